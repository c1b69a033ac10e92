"""Learning curves as a picture; needs matplotlib, the extra `plot`."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fairseq_rope.experiments.figure import empty_figure, write_figure
from fairseq_rope.experiments.train_log import TrainLog


def draw_curves(logs: Mapping[str, TrainLog], output: Path) -> None:
    """Draw validation loss over updates, a line for each run, into the PNG `output`; and BLEU, where one has logged it.

    Raises:
        UserError: matplotlib is not installed.
    """
    has_bleu = any(log.bleu for log in logs.values())
    figure = empty_figure(13 if has_bleu else 7, 4.5)
    losses, *others = figure.subplots(1, 1 + has_bleu, squeeze=False)[0]
    for name, log in logs.items():
        updates, values = zip(*((validation.updates, validation.loss) for validation in log.validations), strict=True)
        losses.plot(updates, values, marker=".", label=f"{name}, best {log.best.loss:.3f}")
    name_axes(losses)
    for axes in others:
        _draw_bleu(axes, logs)
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


def _draw_bleu(axes: Any, logs: Mapping[str, TrainLog]) -> None:
    for name, log in logs.items():
        points = [(validation.updates, bleu) for validation, bleu in log.bleu]
        # one without it has a line without points: the colors are those of the losses
        label = None if log.best_bleu is None else f"{name}, best {log.best_bleu[1]:.2f}"
        axes.plot(*(zip(*points, strict=True) if points else ([], [])), marker=".", label=label)
    name_bleu_axes(axes)
