"""Validation loss and BLEU of models after equally many updates: whether their difference goes, stays or grows.

A difference of the best losses cannot tell a head start, which a longer training makes up for, from one that stays; and
where trainings ended after unequal updates it flatters the longest.
"""

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter

from fairseq_rope.experiments.markdown import table
from fairseq_rope.experiments.pairs import shared_seeds
from fairseq_rope.experiments.seed_differences import difference_cell, seed_difference
from fairseq_rope.experiments.statistic import Statistic, signed
from fairseq_rope.experiments.train_log import Validation, read_train_log
from fairseq_rope.experiments.work_folder import TRAINED, Model

Curve = dict[int, float]  # updates -> loss or BLEU
Value = Callable[[Validation], float | None]

LEAST, MOST = 3, 8  # rows of a table: with fewer there is no course to see


def equal_updates_texts(models: Sequence[Model]) -> list[str]:
    """Return a table of validation loss, and one of BLEU, where the first model and another one have a course of them.

    Its rows are up to eight of the updates after which all shared seeds of both were validated, the last one among
    them. A difference is paired by seed, with the 95% t interval of several.
    A seed that diverged in either model is left out, and the heading says so.
    """
    texts = []
    for model in models[1:]:
        for name, value, spec in (("loss", attrgetter("loss"), ".3f"), ("BLEU (greedy)", attrgetter("bleu"), ".2f")):
            if text := _course(models[0], model, name, value, spec):
                texts.append(text)
    return texts


def _course(baseline: Model, model: Model, name: str, value: Value, spec: str) -> str:
    """Return the table of two models with its heading; nothing where they have too few updates in common."""
    every = {seed: [_curve(each, seed, value) for each in (model, baseline)] for seed in _seeds(baseline, model)}
    pairs = _that_did_not_diverge(every)
    updates = sorted(set.intersection(*(set(curve) for pair in pairs.values() for curve in pair))) if pairs else []
    if len(updates) < LEAST:
        return ""
    columns: dict[str, dict[str, str]] = {}
    pretrainings = 0
    for update in _thinned(updates):
        row = f"{update:,}"
        own, its = (
            {seed: Statistic((pair[i][update],), compared="difference") for seed, pair in pairs.items()} for i in (0, 1)
        )
        means = [statistics.fmean(each.values[0] for each in side.values()) for side in (own, its)]
        columns.setdefault(baseline.name, {})[row] = format(means[1], spec)
        columns.setdefault(model.name, {})[row] = format(means[0], spec)
        if difference := seed_difference(row, model, own, baseline, its):
            text = difference_cell(difference, spec, seeds=len(every))
            pretrainings = difference.independent if difference.independent < len(pairs) else 0
        else:
            text = signed(means[0] - means[1], spec)
        columns.setdefault(f"{model.name} less {baseline.name}", {})[row] = text
    return f"{_heading(name, len(pairs), of=len(every), pretrainings=pretrainings)}\n\n{table(columns)}"


def _heading(name: str, seeds: int, *, of: int, pretrainings: int) -> str:
    """Return what a table shows; `pretrainings` is 0 where each seed has its own."""
    counted = "the seeds" if seeds == of else f"{seeds} of {of} seeds"
    text = f"Validation {name} after equal updates, mean over {counted} of both"
    if pretrainings:
        text += f"; the difference is the mean of the means of each of {pretrainings} pre-trainings"
    return f"{text}:"


def _that_did_not_diverge(pairs: Mapping[int, Sequence[Curve]]) -> Mapping[int, Sequence[Curve]]:
    """Return the curves of seeds that have numbers throughout; where none has, the numbers of all."""
    sound = {seed: pair for seed, pair in pairs.items() if pair == [_numbers(curve) for curve in pair]}
    return sound or {seed: [_numbers(curve) for curve in pair] for seed, pair in pairs.items()}


def _numbers(curve: Curve) -> Curve:
    return {updates: number for updates, number in curve.items() if math.isfinite(number)}


def _seeds(baseline: Model, model: Model) -> list[int]:
    """Return the seeds of which both have a training of their own: one training may be read in two ways."""
    logs = {seed: [each.runs[seed] / TRAINED for each in (baseline, model)] for seed in shared_seeds(model, baseline)}
    return [
        seed for seed, (its, own) in logs.items() if its.is_file() and own.is_file() and its.resolve() != own.resolve()
    ]


def _curve(model: Model, seed: int, value: Value) -> Curve:
    """Return what a run has after each number of updates."""
    log = read_train_log(model.runs[seed] / TRAINED)
    values = {each.updates: value(each) for each in log.validations}
    return {updates: number for updates, number in values.items() if number is not None}


def _thinned(updates: Sequence[int]) -> list[int]:
    """Return at most `MOST` of these, as far apart as they can be, with the last one."""
    count = min(MOST, len(updates))
    return [updates[(i + 1) * len(updates) // count - 1] for i in range(count)]
