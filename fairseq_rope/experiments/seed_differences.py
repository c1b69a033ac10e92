"""How models differ over seeds: means and t intervals of differences that are paired by seed.

The interval holds the noise of training and not that of the test set, which a bootstrap measures (`bootstraps`).
Fine-tunings of one pre-trained model are no independent runs: the mean of their differences is one value.
"""

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fairseq_rope.experiments.statistic import Compared, Statistic, signed
from fairseq_rope.experiments.student_t import central_quantile
from fairseq_rope.experiments.work_folder import Model, model_rows, pretraining, run_statistics

CONFIDENCE = 0.95


@dataclass(frozen=True)
class SeedDifference:
    """The difference of a model from another one in one statistic.

    Args:
        statistic: its name.
        baseline: the model that the other one is compared with.
        model: the other one.
        kind: `difference`, model less baseline; or `ratio`, model by baseline, with the geometric mean.
        seeds: those that both have.
        values: the difference or the ratio of each seed.
        independent: as many of them are; fewer than seeds where several were fine-tuned from one pre-trained model.
        mean: over these.
        low: the lower end of the 95% t interval of the mean.
        high: its upper end.
    """

    statistic: str
    baseline: str
    model: str
    kind: Compared
    seeds: list[int]
    values: dict[int, float]
    independent: int
    mean: float
    low: float
    high: float


def seed_differences(models: Sequence[Model]) -> list[SeedDifference]:
    """Compare each model with the first one, the baseline, in each statistic of which both have two seeds or more."""
    baseline = models[0]
    rows = model_rows(baseline, run_statistics)
    found = []
    for model in models[1:]:
        own = model_rows(model, run_statistics)
        for name in [name for name in rows if name in own]:
            if difference := seed_difference(name, model, own[name], baseline, rows[name]):
                found.append(difference)
    return found


def differences_title(models: Sequence[Model]) -> str:
    """Return the line above a table of `difference_columns`."""
    return (
        f"Difference from {models[0].name} over seeds, paired by seed: mean [95% t interval], "
        "of the noise of training; × is a ratio"
    )


def difference_columns(models: Sequence[Model]) -> dict[str, dict[str, str]]:
    """Return the differences as text, a column for each model but the first one; only of models that have any.

    A cell is mean [low, high]; it says so where it is of fewer seeds than the models share, or where these are of fewer
    pre-trainings.
    """
    specs = {name: next(iter(row.values())).specs[0] for name, row in model_rows(models[0], run_statistics).items()}
    shared = {model.name: len(model.runs.keys() & models[0].runs.keys()) for model in models}
    columns: dict[str, dict[str, str]] = {}
    for each in seed_differences(models):
        column = columns.setdefault(f"{each.model} ({shared[each.model]} seeds)", {})
        column[each.statistic] = difference_cell(each, specs[each.statistic], seeds=shared[each.model])
    return columns


def t_interval(values: Sequence[float]) -> tuple[float, float, float]:
    """Return the mean of two or more values, and the ends of its 95% t interval."""
    mean = statistics.fmean(values)
    error = statistics.stdev(values) / math.sqrt(len(values))
    half = central_quantile(CONFIDENCE, len(values) - 1) * error
    return mean, mean - half, mean + half


def seed_difference(
    name: str, model: Model, own: Mapping[int, Statistic], baseline: Model, its: Mapping[int, Statistic]
) -> SeedDifference | None:
    """Compare two models in one statistic, paired by seed; None where there are not two independent values.

    Args:
        name: the statistic's.
        model: one model.
        own: its values, by seed.
        baseline: the other model.
        its: the values of that one.
    """
    kind = next(iter(its.values())).compared
    pairs = {
        seed: (own[seed].values[0], its[seed].values[0])
        for seed in sorted(own.keys() & its.keys())
        if own[seed].way == its[seed].way and not (own[seed].is_behind([its[seed]]) or its[seed].is_behind([own[seed]]))
    }
    if kind == "ratio":
        values = {seed: math.log(value / other) for seed, (value, other) in pairs.items()}
    else:
        values = {seed: value - other for seed, (value, other) in pairs.items()}
    # a training that failed has a loss that is no number
    values = {seed: value for seed, value in values.items() if math.isfinite(value)}
    groups = _independent({seed: [pretraining(each.runs[seed]) for each in (baseline, model)] for seed in values})
    if kind == "not" or len(groups) < 2:
        return None
    mean, low, high = t_interval([statistics.fmean(values[seed] for seed in group) for group in groups])
    if kind == "ratio":
        values = {seed: math.exp(value) for seed, value in values.items()}
        mean, low, high = math.exp(mean), math.exp(low), math.exp(high)
    return SeedDifference(name, baseline.name, model.name, kind, [*values], values, len(groups), mean, low, high)


def _independent(begun: Mapping[int, Sequence[str]]) -> list[list[int]]:
    """Return groups of seeds that share no pre-trained model with another group, of either of two models.

    Args:
        begun: what the two runs of a seed began with; empty where one is untrained, and the same for all seeds.
    """
    groups: list[tuple[set[tuple[int, str]], list[int]]] = []
    for seed, names in begun.items():
        sides = {(side, name) for side, name in enumerate(names) if name} or {(0, "")}
        joined = [group for group in groups if group[0] & sides]
        groups = [group for group in groups if not group[0] & sides]
        groups.append((sides.union(*(its for its, _ in joined)), [*(s for _, seeds in joined for s in seeds), seed]))
    return [seeds for _, seeds in groups]


def difference_cell(difference: SeedDifference, spec: str, *, seeds: int) -> str:
    """Return a difference as text, mean [low, high]; it says so where it is of fewer than these seeds."""
    is_ratio = difference.kind == "ratio"
    numbers = (difference.mean, difference.low, difference.high)
    mean, low, high = (format(number, ".2f") if is_ratio else signed(number, spec) for number in numbers)
    text = f"{'× ' if is_ratio else ''}{mean} [{low}, {high}]"
    if difference.independent < len(difference.seeds):
        text += f", {difference.independent} pre-trainings"
    return text if len(difference.seeds) == seeds else f"{text} ({len(difference.seeds)} of {seeds})"
