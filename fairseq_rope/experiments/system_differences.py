"""Scores of systems of several seeds, and their differences from the first one with the noises of both kinds."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from fairseq_rope.experiments.bootstraps import pooled_table
from fairseq_rope.experiments.markdown import table
from fairseq_rope.experiments.pairs import ONE_SEED
from fairseq_rope.experiments.seed_differences import t_interval
from fairseq_rope.experiments.statistic import Statistic, cell, signed
from fairseq_rope.scoring.bootstrap import Bootstrap, Difference


@dataclass(frozen=True)
class SystemScores:
    """The scores of a system by seed, their mean and their sample standard deviation, None of one seed."""

    system: str
    values: list[float]
    mean: float
    sd: float | None


@dataclass(frozen=True)
class PairedDifference:
    """A system less the baseline by seed: the mean, and the ends of its 95% t interval, of the noise of training."""

    system: str
    values: list[float]
    mean: float
    low: float
    high: float


@dataclass(frozen=True)
class SystemDifferences:
    """What one metric says of systems, the baseline first.

    Args:
        metric: its name.
        signature: with the number of samples and the seed of the bootstrap.
        scores: of each system.
        seed_differences: of each other system from the baseline, for the noise of training; none of one seed.
        bootstraps: the same differences pooled over seeds, for the noise of the test set.
    """

    metric: str
    signature: str
    scores: list[SystemScores]
    seed_differences: list[PairedDifference]
    bootstraps: list[Difference]


def system_differences(found: Sequence[Bootstrap]) -> list[SystemDifferences]:
    """Return what each metric says of the systems that were compared with it."""
    return [
        SystemDifferences(
            each.metric,
            each.signature,
            [
                SystemScores(name, row, statistics.fmean(row), statistics.stdev(row) if len(row) > 1 else None)
                for name, row in each.scores.items()
            ],
            _paired(each.scores),
            each.differences,
        )
        for each in found
    ]


def systems_text(found: Sequence[Bootstrap]) -> str:
    """Return tables of the scores, of the differences with the noise of training, and with that of the test set."""
    scores, seed_differences = {}, {}
    for each in system_differences(found):
        scores[each.metric] = {row.system: _spread(row.values) for row in each.scores}
        seed_differences[each.metric] = {
            row.system: f"{signed(row.mean, '.2f')} [{signed(row.low, '.2f')}, {signed(row.high, '.2f')}]"
            for row in each.seed_differences
        }
    baseline, seeds = next((name, len(row)) for name, row in found[0].scores.items())
    training, pooled = ONE_SEED, ""
    if seeds > 1:
        title = f"Difference from {baseline} over {seeds} seeds, paired by seed: mean [95% t interval], "
        training = f"{title}of the noise of training\n\n{table(seed_differences)}"
        pooled = f", pooled over {seeds} seeds"
    test_set = f"Paired bootstrap{pooled}: mean difference from {baseline} [95% interval], of the noise of the test set"
    return "\n\n".join([table(scores), training, test_set, pooled_table(found)])


def _paired(scores: dict[str, list[float]]) -> list[PairedDifference]:
    baseline, *others = scores
    found = []
    for name in others:
        values = [own - other for own, other in zip(scores[name], scores[baseline], strict=True)]
        if len(values) > 1:
            found.append(PairedDifference(name, values, *t_interval(values)))
    return found


def _spread(values: Sequence[float]) -> str:
    return cell([Statistic((value,)) for value in values], runs=len(values))
