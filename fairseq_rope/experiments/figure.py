"""Pictures with matplotlib, the extra `plot`."""

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fairseq_rope_data.errors import UserError
from fairseq_rope_data.files import complete_file

# told apart by people who see colors in another way (Okabe and Ito, 2008)
PALETTE = ("#000000", "#E69F00", "#56B4E9", "#009E73", "#0072B2", "#D55E00", "#CC79A7", "#F0E442")
MARKERS = "os^Dv<>P"


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


def line_style(number: int, colors: Sequence[str] = PALETTE) -> dict[str, str]:
    """Return the color of a line by its number; where the eight begin again the line is another."""
    return {"color": colors[number % len(colors)], "linestyle": "-" if number < len(colors) else "--"}


def label(name: str) -> str:
    """Return a name for a legend.

    matplotlib leaves out those that begin with _, so a joiner stands before it; and it draws Unicode alone, which the
    name of a folder need not be.
    """
    name = name.encode(errors="replace").decode()
    return f"\u2060{name}" if name.startswith("_") else name


def draw_names_as_they_stand(figure: Any) -> None:
    """Let no text of a figure be a formula: a model may be named $x$."""
    from matplotlib.text import Text

    for text in figure.findobj(Text):
        text.set_parse_math(False)


def check_picture(output: Path) -> None:
    """Check the file of a picture before any work starts, and that matplotlib is there.

    Raises:
        UserError: its name is no picture's, so that it may be something else, it has no folder, or there is no
            matplotlib.
    """
    if output.suffix not in (".png", ".svg"):
        raise UserError(f"--output must end in .png or .svg, but is {output}")
    if not output.parent.is_dir():
        raise UserError(f"--output {output}: there is no folder {output.parent}")
    empty_figure(1, 1)


def write_figure(figure: Any, output: Path) -> None:
    """Write a figure as `output`, complete or not at all: SVG where its name ends so, else PNG.

    The same figure gives the same bytes.
    """
    from matplotlib import rc_context

    draw_names_as_they_stand(figure)
    form = "svg" if output.suffix == ".svg" else "png"
    with complete_file(output) as part, rc_context({"svg.hashsalt": "fairseq_rope", "svg.fonttype": "none"}):
        figure.savefig(part, format=form, dpi=150, metadata={"Date": None} if form == "svg" else None)
