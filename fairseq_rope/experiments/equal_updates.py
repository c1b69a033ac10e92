"""Validation loss and BLEU of models after equally many updates: whether their difference goes, stays or grows.

A difference of the best losses cannot tell a head start, which a longer training makes up for, from one that stays; and
where trainings ended after unequal updates it flatters the longest.
"""

import math
import statistics
from collections.abc import Callable, Sequence
from operator import attrgetter

from fairseq_rope.experiments.markdown import table
from fairseq_rope.experiments.pairs import shared_seeds
from fairseq_rope.experiments.seed_differences import difference_cell, seed_difference
from fairseq_rope.experiments.statistic import Statistic
from fairseq_rope.experiments.train_log import Validation, read_train_log
from fairseq_rope.experiments.work_folder import TRAINED, Model

LEAST, MOST = 3, 8  # rows of a table: with fewer there is no course to see


def equal_updates_texts(models: Sequence[Model]) -> list[str]:
    """Return a table of validation loss, and one of BLEU, where the first model and another one have a course of them.

    Its rows are up to eight of the updates after which all shared seeds of both were validated, the last one among
    them. A difference is paired by seed, with the 95% t interval of several.
    """
    texts = []
    for model in models[1:]:
        for name, value, spec in (("loss", attrgetter("loss"), ".3f"), ("BLEU (greedy)", attrgetter("bleu"), ".2f")):
            if text := _course(models[0], model, value, spec):
                texts.append(f"Validation {name} after equal updates, mean over the seeds of both:\n\n{text}")
    return texts


def _course(baseline: Model, model: Model, value: Callable[[Validation], float | None], spec: str) -> str:
    """Return the table of two models; nothing where they have too few updates in common."""
    own, its = ({seed: _curve(each, seed, value) for seed in _seeds(baseline, model)} for each in (model, baseline))
    curves = [*own.values(), *its.values()]
    updates = sorted(set(curves[0]).intersection(*curves)) if curves else []
    if len(updates) < LEAST:
        return ""
    columns: dict[str, dict[str, str]] = {}
    for update in _thinned(updates):
        row = f"{update:,}"
        values = [
            {seed: Statistic((curve[update],), compared="difference") for seed, curve in each.items()}
            for each in (own, its)
        ]
        means = [statistics.fmean(each.values[0] for each in statistic.values()) for statistic in values]
        columns.setdefault(baseline.name, {})[row] = format(means[1], spec)
        columns.setdefault(model.name, {})[row] = format(means[0], spec)
        difference = seed_difference(row, model, values[0], baseline, values[1])
        columns.setdefault(f"{model.name} less {baseline.name}", {})[row] = (
            difference_cell(difference, spec, seeds=len(own)) if difference else format(means[0] - means[1], f"+{spec}")
        )
    return table(columns)


def _seeds(baseline: Model, model: Model) -> list[int]:
    """Return the seeds of which both have a training of their own: one training may be read in two ways."""
    logs = {seed: [each.runs[seed] / TRAINED for each in (baseline, model)] for seed in shared_seeds(model, baseline)}
    return [
        seed for seed, (its, own) in logs.items() if its.is_file() and own.is_file() and its.resolve() != own.resolve()
    ]


def _curve(model: Model, seed: int, value: Callable[[Validation], float | None]) -> dict[int, float]:
    """Return what a run has after each number of updates."""
    log = read_train_log(model.runs[seed] / TRAINED)
    values = {each.updates: value(each) for each in log.validations}
    return {updates: number for updates, number in values.items() if number is not None and math.isfinite(number)}


def _thinned(updates: Sequence[int]) -> list[int]:
    """Return at most `MOST` of these, as far apart as they can be, with the last one."""
    count = min(MOST, len(updates))
    return [updates[(i + 1) * len(updates) // count - 1] for i in range(count)]
