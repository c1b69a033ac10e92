"""Learning curves as a picture; needs matplotlib, the extra `plot`."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fairseq_rope.experiments.figure import empty_figure, label, line_style, write_figure
from fairseq_rope.experiments.statistic import Statistic, cell
from fairseq_rope.experiments.train_log import TrainLog


def draw_curves(models: Mapping[str, Sequence[TrainLog]], output: Path) -> None:
    """Draw validation loss over updates, a color for each model; and BLEU, where a run has logged it.

    Args:
        models: the logs of each model's runs, by what the legend calls it; none of one that was not trained.
        output: written complete or not at all.

    Raises:
        UserError: matplotlib is not installed.
    """
    has_bleu = any(log.bleu for logs in models.values() for log in logs)
    figure = empty_figure(13 if has_bleu else 7, 4.5)
    losses, *others = figure.subplots(1, 1 + has_bleu, squeeze=False)[0]
    for i, (model, logs) in enumerate(models.items()):
        runs = [[(validation.updates, validation.loss) for validation in log.validations] for log in logs]
        _draw(losses, i, model, runs, [Statistic((log.best.loss,), specs=(".3f",), log=log) for log in logs])
        for axes in others:
            runs = [[(validation.updates, bleu) for validation, bleu in log.bleu] for log in logs]
            best = [Statistic((log.best_bleu[1],), log=log) for log in logs if log.best_bleu is not None]
            _draw(axes, i, model, runs, best)
    name_axes(losses)
    for axes in others:
        name_bleu_axes(axes)
    write_figure(figure, output)


def name_axes(axes: Any) -> None:
    """Name the axes of learning curves that are drawn, and their lines."""
    axes.set(xlabel="updates", ylabel="validation loss (as in training, bits a token)", yscale="log")
    axes.yaxis.set_major_formatter("{x:.3g}")
    axes.yaxis.set_minor_formatter("{x:.3g}")
    axes.grid(alpha=0.3, which="both")
    axes.legend()


def name_bleu_axes(axes: Any) -> None:
    """Name the axes of curves of BLEU that are drawn, and their lines."""
    axes.set(xlabel="updates", ylabel="BLEU of the validation set (greedy)")
    axes.grid(alpha=0.3)
    axes.legend()


def _draw(
    axes: Any, number: int, model: str, runs: Sequence[Sequence[tuple[int, float]]], best: Sequence[Statistic]
) -> None:
    """Draw the runs of a model, thin where they are several; the legend has the mean of their best values."""
    name = label(f"{model}, best {cell(best, runs=len(runs))}") if best else None
    width = 1.5 if len(runs) == 1 else 0.7
    for points in runs:
        # one without points keeps its place among the lines
        updates, values = zip(*points, strict=True) if points else ([], [])
        axes.plot(updates, values, marker=".", linewidth=width, markersize=4 * width, label=name, **line_style(number))
        name = None
