"""Learning curves as a picture; needs matplotlib, the extra `plot`."""

from collections.abc import Mapping
from pathlib import Path

from fairseq_rope.experiments.train_log import TrainLog
from fairseq_rope_data.errors import UserError
from fairseq_rope_data.files import complete_file


def draw_curves(logs: Mapping[str, TrainLog], output: Path) -> None:
    """Draw validation loss over updates, a line for each run, into the PNG `output`.

    Raises:
        UserError: matplotlib is not installed.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise UserError("a picture needs matplotlib: pip install 'fairseq-rope[plot]'") from None
    figure = Figure(figsize=(7, 4.5), layout="constrained")
    axes = figure.add_subplot()
    for name, log in logs.items():
        updates, losses = zip(*((validation.updates, validation.loss) for validation in log.validations), strict=True)
        axes.plot(updates, losses, marker=".", label=f"{name}, best {log.best.loss:.3f}")
    axes.set(xlabel="updates", ylabel="validation loss (label-smoothed, bits a token)", yscale="log")
    axes.yaxis.set_major_formatter("{x:.1f}")
    axes.yaxis.set_minor_formatter("{x:.1f}")
    axes.grid(alpha=0.3, which="both")
    axes.legend()
    with complete_file(output) as part:
        figure.savefig(part, format="png", dpi=150)
