"""The report on predictions: scores with bootstrap intervals, and paired bootstraps between models."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fairseq_rope.scoring.bootstrap import Bootstrap, bootstrap_of
from fairseq_rope.scoring.classification import METRICS, Array, check_metrics, default_metrics, metric_signature
from fairseq_rope.scoring.metrics import Score
from fairseq_rope.scoring.predictions import Predictions
from fairseq_rope.scoring.resampling import SAMPLES, Resampled, ResampledScores, draws, interval, resampling_seed
from fairseq_rope_data.errors import UserError

# how the notes begin on a model that predicts the same of every example, and on examples of one label
CONSTANT_NOTES = ("every prediction is ", "every label is ")
# what the note on examples that were cut has after their number
CUT_NOTE = "examples are cut to "


@dataclass(frozen=True)
class ExampleScore(Score):
    """A score that is a function of examples, with the ends of its 95% bootstrap interval, in percent."""

    low: float
    high: float


@dataclass
class PredictionReport:
    """The scores of the predictions for a set, of the same form as those of a translation.

    Args:
        sentences: how many examples.
        settings: `classes`, their names, none of numbers.
        scores: the first one is the task's own.
        notes: one sentence each.
    """

    sentences: int
    settings: dict[str, Any]
    scores: list[ExampleScore] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def report_on(found: Predictions, metrics: Sequence[str] = ()) -> PredictionReport:
    """Score predictions; examples without labels have none.

    Args:
        found: the predictions.
        metrics: names of METRICS; all that fit where none is given.

    Raises:
        UserError: see `check_metrics` and `resampling_seed`.
    """
    report = PredictionReport(len(found.predictions), {"classes": list(found.classes)})
    if not found.labels:
        report.notes.append("no scores: the examples have no labels")
        return report
    names = [*dict.fromkeys(metrics)] or [*default_metrics(found.classes)]
    check_metrics(names, found.classes)
    for name in names:
        scored = _resampled(name, [found])
        value, (low, high) = scored.texts[0].score, interval(scored.texts[0].samples)
        text = f"{name} = {value:.2f} [{low:.2f}, {high:.2f}]"
        report.scores.append(ExampleScore(name, value, text, scored.signature, low, high))
    for beginning, column in zip(CONSTANT_NOTES, (found.predictions, found.labels), strict=True):
        if len({*column}) == 1:
            report.notes.append(f"{beginning}{column[0]}{_undefined(names)}")
    return report


def _undefined(metrics: Sequence[str]) -> str:
    """Return what a note on predictions or labels that are all the same says of scores."""
    undefined = [name for name in metrics if METRICS[name].correlation]
    if not undefined:
        return ""
    verbs = ("are", "count") if len(undefined) > 1 else ("is", "counts")
    return f", so {' and '.join(undefined)} {verbs[0]} undefined and {verbs[1]} as 0"


def bootstrap_predictions(systems: Mapping[str, Sequence[Predictions]], metrics: Sequence[str]) -> list[Bootstrap]:
    """Compare systems, name -> predictions by seed, with the first of them, the baseline.

    Raises:
        UserError: the labels differ, so that they are not predictions for the same examples.
    """
    every = [each for row in systems.values() for each in row]
    if any(each.labels != every[0].labels for each in every):
        raise UserError(f"predictions of {' and '.join(systems)} are compared, but their labels differ")
    seeds = {name: len(row) for name, row in systems.items()}
    return [bootstrap_of(seeds, _resampled(name, every)) for name in metrics]


def _resampled(name: str, every: Sequence[Predictions]) -> ResampledScores:
    """Return the scores of one metric on the test set and on resampled ones, the same for all."""
    metric, seed, size = METRICS[name], resampling_seed(), len(every[0].labels)
    arrays = [each.arrays() for each in every]
    blocks = [[metric.resampled(*pair, counts) for pair in arrays] for counts in draws(size, SAMPLES, seed)]
    # (blocks, T, S) -> (T, samples)
    samples: Array = np.concatenate(blocks, axis=1) * 100
    texts = [Resampled(100 * metric.score(*pair), own) for pair, own in zip(arrays, samples, strict=True)]
    signature = metric_signature(name, size, every[0].classes)
    return ResampledScores(name, texts, f"{signature}|seed:{str(seed).lower()}|bs:{SAMPLES}")
