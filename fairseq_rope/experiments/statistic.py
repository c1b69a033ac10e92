"""A statistic of a run, such as a score, and the text of one over several runs: mean ± standard deviation."""

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from fairseq_rope.experiments.train_log import TrainLog

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
        log: of the training, where the numbers are of how far it is.
    """

    values: tuple[float, ...]
    form: str = "{}"
    specs: tuple[str, ...] = (".2f",)
    compared: Compared = "not"
    lower_is_better: bool = False
    log: TrainLog | None = None

    def is_behind(self, other: "Statistic") -> bool:
        """Return whether it is of a training that has not ended, and the other one of a training with more updates."""
        return self.log is not None and other.log is not None and self.log.is_behind(other.log)


Rows = dict[str, dict[int, Statistic]]  # of a model: name of the statistic -> that of each seed that has it


def without_behind(row: Mapping[int, Statistic]) -> dict[int, Statistic]:
    """Leave out of one statistic by seed those seeds whose training has not come as far as another seed's."""
    return {seed: own for seed, own in row.items() if not any(own.is_behind(other) for other in row.values())}


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
