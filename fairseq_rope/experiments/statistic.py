"""A statistic of a run, such as a score, and the text of one over several runs: mean ± standard deviation."""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Compared = Literal["not", "difference", "ratio"]


@dataclass(frozen=True)
class Statistic:
    """One or more numbers and the form of their text.

    Args:
        values: the numbers.
        form: text with a `{}` for each number.
        specs: how each number is written, as in `format`.
        compared: how the first number of two models is.
        lower_is_better: of the first number.
    """

    values: tuple[float, ...]
    form: str = "{}"
    specs: tuple[str, ...] = (".2f",)
    compared: Compared = "not"
    lower_is_better: bool = False


Rows = dict[str, dict[int, Statistic]]  # of a model: name of the statistic -> that of each seed that has it


def cell(each_run: Sequence[Statistic], *, runs: int) -> str:
    """Return one statistic of several runs as text: mean ± sample standard deviation of each number that differs.

    Args:
        each_run: of those runs that have it; at least one, all of the same form.
        runs: how many runs there are; where some lack the statistic the text says so.
    """
    first = each_run[0]
    columns = zip(*(each.values for each in each_run), strict=True)
    text = first.form.format(*(_spread(column, spec) for column, spec in zip(columns, first.specs, strict=True)))
    return text if len(each_run) == runs else f"{text} ({len(each_run)} of {runs})"


def _spread(values: Sequence[float], spec: str) -> str:
    mean = format(statistics.fmean(values), spec)
    if len(set(values)) == 1 or not all(map(math.isfinite, values)):
        return mean
    return f"{mean} ± {format(statistics.stdev(values), spec)}"
