"""The learning curves of the page, of loss and of BLEU, each with the table of its numbers."""

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from fairseq_rope.experiments.curves import name_axes, name_bleu_axes
from fairseq_rope.experiments.figure import label, line_style
from fairseq_rope.page.figures import PageFigure
from fairseq_rope.page.svg import COLORS, page_style, svg_text
from fairseq_rope.page.tables import text_table

Points = Mapping[int, float]  # of a run: updates -> value

_LINES = "Thin lines are runs, thick ones the mean over seeds where all have been validated."


def curves_figure(models: Mapping[str, Any]) -> PageFigure | None:
    """Draw validation loss over updates, a thin line for each run and a thick one for the mean over seeds.

    None where no model was trained.

    Args:
        models: those of `experiments.data.results_data`.
    """
    runs = _runs(models, "losses")
    return _figure("curves", runs, ".3f", name_axes, "Validation loss over updates", _LINES) if runs else None


def bleu_figure(models: Mapping[str, Any]) -> PageFigure | None:
    """Draw BLEU of the validation set in the same way; None where no training has logged it.

    Args:
        models: those of `experiments.data.results_data`.
    """
    runs = _runs(models, "valid_bleu")
    if not any(runs.values()):
        return None
    caption = f"{_LINES} Searched greedily, in the words of training: it is no score of a test set."
    return _figure("bleu-curves", runs, ".2f", name_bleu_axes, "BLEU of the validation set over updates", caption)


def _figure(
    name: str,
    models: Mapping[str, Sequence[Points]],
    spec: str,
    name_own_axes: Callable[[Any], None],
    title: str,
    caption: str,
) -> PageFigure:
    """Draw the runs of each model and their mean; `spec` is how a value is written."""
    with page_style(name) as (figure, axes):
        for i, (model, runs) in enumerate(models.items()):
            style, several = line_style(i, COLORS), len(runs) > 1
            for points in runs:
                axes.plot(*_axes(points), **style, linewidth=0.6 if several else 1.8, alpha=0.6 if several else 1)
            if runs:
                axes.plot(*_axes(_mean(runs)), **style, linewidth=2.2, label=label(model))
        name_own_axes(axes)
        svg = svg_text(figure)
    means = {model: _mean(runs) for model, runs in models.items() if runs}
    updates = _thinned(sorted({update for points in means.values() for update in points}))
    rows = [
        [f"{update:,}", *(f"{points[update]:{spec}}" if update in points else "" for points in means.values())]
        for update in updates
    ]
    return PageFigure(title, caption, svg, text_table(["updates", *means], rows))


def _runs(models: Mapping[str, Any], values: str) -> dict[str, list[Points]]:
    """Return the runs of each model that was trained, those that have such values."""
    return {
        name: [_points(curve["updates"], curve[values]) for curve in model["curves"].values() if values in curve]
        for name, model in models.items()
        if model["curves"]
    }


def _points(updates: Sequence[int], values: Sequence[float | None]) -> dict[int, float]:
    return {update: value for update, value in zip(updates, values, strict=True) if value is not None}


def _mean(runs: Sequence[Points]) -> dict[int, float]:
    """Return the mean of those updates after which all runs have a value."""
    shared = sorted(set.intersection(*(set(run) for run in runs)))
    return {update: statistics.fmean(run[update] for run in runs) for update in shared}


def _axes(points: Points) -> tuple[list[int], list[float]]:
    return list(points), list(points.values())


def _thinned(updates: Sequence[int], most: int = 15) -> list[int]:
    """Return at most so many of them, evenly, the last one among them."""
    step = max(1, math.ceil(len(updates) / most))
    return list(reversed(updates[::-1][::step]))
