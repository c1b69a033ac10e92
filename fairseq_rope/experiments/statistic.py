"""A figure of a run, such as a score, and how those of several runs read in one cell: mean ± standard deviation."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Figure:
    """Numbers that belong together, and how they read.

    Args:
        values: the numbers.
        form: text with a `{}` for each number.
        specs: how each number is written, as in `format`.
    """

    values: tuple[float, ...]
    form: str = "{}"
    specs: tuple[str, ...] = (".2f",)


def cell(figures: Sequence[Figure], *, runs: int) -> str:
    """Write one figure of several runs as a text: mean ± sample standard deviation of each number that differs.

    Args:
        figures: of those runs that have it; at least one, all of the same form.
        runs: how many runs there are; where some have no such figure the text says so.
    """
    first = figures[0]
    columns = zip(*(figure.values for figure in figures), strict=True)
    text = first.form.format(*(_spread(column, spec) for column, spec in zip(columns, first.specs, strict=True)))
    return text if len(figures) == runs else f"{text} ({len(figures)} of {runs})"


def _spread(values: Sequence[float], spec: str) -> str:
    mean = format(statistics.fmean(values), spec)
    if len(set(values)) == 1:
        return mean
    return f"{mean} ± {format(statistics.stdev(values), spec)}"
