"""A statistic of a run, such as a score, and the text of one over several runs: mean ± standard deviation."""

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from fairseq_rope.experiments.train_log import TrainLog

Compared = Literal["not", "difference", "ratio"]
_VERSIONS = ("version", "sacremoses", "scikit-learn", "scipy")  # of sacreBLEU and other libraries, in a signature


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
        signature: of a score.
    """

    values: tuple[float, ...]
    form: str = "{}"
    specs: tuple[str, ...] = (".2f",)
    compared: Compared = "not"
    lower_is_better: bool = False
    log: TrainLog | None = None
    signature: str = ""

    @property
    def way(self) -> tuple[str, ...]:
        """How it was scored, by whatever versions of libraries."""
        return tuple(part for part in self.signature.split("|") if part.partition(":")[0] not in _VERSIONS)

    def is_behind(self, others: Iterable["Statistic"]) -> bool:
        """Return whether it is of a training that has not ended, and one of the others of a training that is ahead."""
        return self.log is not None and any(each.log is not None and self.log.is_behind(each.log) for each in others)

    def is_counted(self, others: Iterable["Statistic"]) -> bool:
        """Return whether it is in a mean over others too: it has a number, and its training is not behind."""
        return math.isfinite(self.values[0]) and not self.is_behind(others)


Rows = dict[str, dict[int, Statistic]]  # of a model: name of the statistic -> that of each seed that has it


def ways(each_run: Iterable[Statistic]) -> int:
    """Return in how many ways these were scored; those of several have no mean."""
    return len({each.way for each in each_run})


def ways_text(count: int) -> str:
    """Return what stands in the place of a mean of scores that were made in several ways."""
    return f"scored in {count} ways"


def cell(each_run: Sequence[Statistic], *, runs: int) -> str:
    """Return one statistic of several runs as text: mean ± sample standard deviation of each number that differs.

    Where they were scored in several ways it says so instead.

    Args:
        each_run: of those runs that have it; at least one, all of the same form.
        runs: how many runs there are; where some lack the statistic, diverged or are behind others, the text says so.
    """
    counted = [each for each in each_run if each.is_counted(each_run)]
    counted = counted or [each for each in each_run if not each.is_behind(each_run)]
    first = counted[0]
    columns = zip(*(each.values for each in counted), strict=True)
    text = first.form.format(*(_spread(column, spec) for column, spec in zip(columns, first.specs, strict=True)))
    if (count := ways(counted)) > 1:
        text = ways_text(count)
    return text if len(counted) == runs else f"{text} ({len(counted)} of {runs})"


def signed(number: float, spec: str) -> str:
    """Return a number with its sign, but 0.000 where that would be -0.000."""
    text = format(number, f"+{spec}")
    return text if text.strip("-0.") else text.removeprefix("-")


def _spread(values: Sequence[float], spec: str) -> str:
    mean = format(statistics.fmean(values), spec)
    if len(set(values)) == 1 or not all(map(math.isfinite, values)):
        return mean
    return f"{mean} ± {format(statistics.stdev(values), spec)}"
