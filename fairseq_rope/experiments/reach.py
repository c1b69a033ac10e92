"""What a model needs to reach the best validation loss of another one: updates and time, by seed.

A loss is reached at the first validation that is at most as high, so no finer than validations are apart.
"""

import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from fairseq_rope.experiments.markdown import table
from fairseq_rope.experiments.pairs import shared_seeds
from fairseq_rope.experiments.train_log import TrainLog, Validation, read_train_log
from fairseq_rope.experiments.work_folder import TRAINED, Model, is_trained

TITLE = (
    "Updates and minutes to the best validation loss of the other model, of those that the other one took; "
    "mean over seeds, × is the ratio"
)


@dataclass(frozen=True)
class Effort:
    """Updates or seconds that a model needs, and those of the other one.

    Args:
        values: by seed; None where the loss is never reached, or the log has no time.
        other: what the other model needed for it, by seed.
        mean: of `values` over the seeds that have one; None where none has.
        other_mean: of `other` over the same seeds.
        ratio: the geometric mean of the ratios by seed.
    """

    values: dict[int, float | None]
    other: dict[int, float | None]
    mean: float | None
    other_mean: float | None
    ratio: float | None

    @property
    def counted(self) -> int:
        """In how many seeds both have a value, of which the means are."""
        return sum(bool(value and self.other[seed]) for seed, value in self.values.items())


@dataclass(frozen=True)
class Reach:
    """What a model needs to reach the best validation loss of another one.

    Args:
        model: its name.
        other: that of the other one.
        losses: the other one's best loss, by seed.
        reached: the seeds in which it is reached.
        updates: needed.
        seconds: needed, of training and validations.
    """

    model: str
    other: str
    losses: dict[int, float]
    reached: list[int]
    updates: Effort
    seconds: Effort


def reaches(models: Sequence[Model]) -> Iterator[Reach]:
    """Compare the first model with each other one, both ways, in the seeds that both have."""
    baseline = models[0]
    for model in models[1:]:
        for own, other in ((baseline, model), (model, baseline)):
            if found := _reach(own, other):
                yield found


def reach_table(found: Sequence[Reach]) -> str:
    """Lay out the means: a row for each pair of models."""
    columns: dict[str, dict[str, str]] = {"valid loss": {}, "updates": {}, "minutes": {}}
    for each in found:
        row = f"{each.model} to reach {each.other}"
        columns["valid loss"][row] = f"{statistics.fmean(each.losses.values()):.3f}"
        columns["updates"][row] = _cell(each, each.updates, ",.0f")
        columns["minutes"][row] = _cell(each, each.seconds, ".1f", unit=60)
    return table(columns)


def _reach(model: Model, other: Model) -> Reach | None:
    """Return what `model` needs; None where no seed has numbers of both."""
    losses, points = {}, {}
    for seed, (own, its) in _pairs(model, other).items():
        if math.isfinite(its.best.loss):
            losses[seed] = its.best.loss
            first = next((each for each in own.validations if each.loss <= its.best.loss), None)
            points[seed] = (own, first), (its, its.best)
    if not losses:
        return None
    updates, seconds = (
        {seed: (of(*own), of(*its)) for seed, (own, its) in points.items()} for of in (_updates, _seconds)
    )
    reached = [seed for seed, (own, _) in updates.items() if own is not None]
    return Reach(model.name, other.name, losses, reached, _effort(updates), _effort(seconds))


def _pairs(model: Model, other: Model) -> dict[int, tuple[TrainLog, TrainLog]]:
    """Return the logs of both by seed; where a training is behind the other one it is left out, unless all are."""
    pairs = {}
    for seed in shared_seeds(model, other):
        if not (is_trained(model.runs[seed]) and is_trained(other.runs[seed])):
            continue
        own, its = (each.runs[seed] / TRAINED for each in (model, other))
        if own.resolve() != its.resolve():  # not one training, whose model is read in two ways
            pairs[seed] = read_train_log(own), read_train_log(its)
    even = {seed: (own, its) for seed, (own, its) in pairs.items() if not (own.is_behind(its) or its.is_behind(own))}
    return even or pairs


def _updates(_: TrainLog, point: Validation | None) -> float | None:
    return None if point is None else point.updates


def _seconds(log: TrainLog, point: Validation | None) -> float | None:
    seconds = math.nan if point is None else log.clock.seconds_at(point.updates)
    return seconds if math.isfinite(seconds) else None


def _effort(pairs: Mapping[int, tuple[float | None, float | None]]) -> Effort:
    both = [(own, its) for own, its in pairs.values() if own and its]
    values, other = ({seed: pair[i] for seed, pair in pairs.items()} for i in (0, 1))
    if not both:
        return Effort(values, other, None, None, None)
    mean, other_mean = (statistics.fmean(column) for column in zip(*both, strict=True))
    return Effort(values, other, mean, other_mean, statistics.geometric_mean(own / its for own, its in both))


def _cell(found: Reach, effort: Effort, spec: str, *, unit: int = 1) -> str:
    """Return the means and their ratio; it says in how many seeds the loss is not reached, or the log has no time."""
    seeds = len(found.losses)
    never, unknown = seeds - len(found.reached), len(found.reached) - effort.counted
    if not found.reached:
        return "never"
    if effort.mean is None or effort.other_mean is None:
        return ""
    text = f"{effort.mean / unit:{spec}} of {effort.other_mean / unit:{spec}} (× {effort.ratio:.2f})"
    text += f", unknown in {unknown} of {seeds} seeds" if unknown else ""
    return f"{text}, never in {never} of {seeds} seeds" if never else text
