"""Learning curves as a picture; needs matplotlib, the extra `plot`."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fairseq_rope.experiments.figure import new_figure, write_figure
from fairseq_rope.experiments.train_log import TrainLog


def draw_curves(logs: Mapping[str, TrainLog], output: Path) -> None:
    """Draw validation loss over updates, a line for each run, into the PNG `output`.

    Raises:
        UserError: matplotlib is not installed.
    """
    figure, axes = new_figure()
    for name, log in logs.items():
        updates, losses = zip(*((validation.updates, validation.loss) for validation in log.validations), strict=True)
        axes.plot(updates, losses, marker=".", label=f"{name}, best {log.best.loss:.3f}")
    name_axes(axes)
    write_figure(figure, output)


def name_axes(axes: Any) -> None:
    """Name the axes of learning curves that are drawn, and their lines."""
    axes.set(xlabel="updates", ylabel="validation loss (as in training, bits a token)", yscale="log")
    axes.yaxis.set_major_formatter("{x:.3g}")
    axes.yaxis.set_minor_formatter("{x:.3g}")
    axes.grid(alpha=0.3, which="both")
    axes.legend()
