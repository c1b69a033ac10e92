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
    figure = empty_figure(7, 4.5)
    return figure, figure.add_subplot()


def empty_figure(width: float, height: float) -> Any:
    """Return a figure of so many inches without axes.

    Raises:
        UserError: matplotlib is not installed.
    """
    # fairseq's imports let everything be logged: which of all fonts are looked at, too
    logging.getLogger("matplotlib").setLevel(logging.WARNING)
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise UserError("a picture needs matplotlib: pip install 'fairseq-rope[plot]'") from None
    return Figure(figsize=(width, height), layout="constrained")


def write_figure(figure: Any, output: Path) -> None:
    """Write a figure as `output`, complete or not at all: SVG where its name ends so, else PNG.

    The same figure gives the same bytes.
    """
    from matplotlib import rc_context

    form = "svg" if output.suffix == ".svg" else "png"
    with complete_file(output) as part, rc_context({"svg.hashsalt": "fairseq_rope", "svg.fonttype": "none"}):
        figure.savefig(part, format=form, dpi=150, metadata={"Date": None} if form == "svg" else None)
