"""Pictures with matplotlib, the extra `plot`."""

import logging
from pathlib import Path
from typing import Any

from fairseq_rope_data.errors import UserError
from fairseq_rope_data.files import complete_file


def new_figure() -> tuple[Any, Any]:
    """Return a figure and its axes.

    Raises:
        UserError: matplotlib is not installed.
    """
    # fairseq's imports let everything be logged: which of all fonts are looked at, too
    logging.getLogger("matplotlib").setLevel(logging.WARNING)
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise UserError("a picture needs matplotlib: pip install 'fairseq-rope[plot]'") from None
    figure = Figure(figsize=(7, 4.5), layout="constrained")
    return figure, figure.add_subplot()


def write_figure(figure: Any, output: Path) -> None:
    """Write a figure as the PNG `output`, complete or not at all."""
    with complete_file(output) as part:
        figure.savefig(part, format="png", dpi=150)
