"""matplotlib's figures as SVG that stands inside a page: the same bytes each time, in the page's colors and fonts."""

import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from fairseq_rope.experiments.figure import PALETTE, draw_names_as_they_stand, empty_figure

INK = "#010203"  # stands for the color of the page's text, which is another one in the dark
COLORS = (INK, *PALETTE[1:])

_STYLE = {
    "svg.fonttype": "none",  # text stays text: it can be read aloud, searched and copied
    "font.size": 10,
    "savefig.transparent": True,
    "legend.framealpha": 0,
    **dict.fromkeys(
        ("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color", "grid.color"), INK
    ),
}
# what is for files that stand alone: declarations, metadata with addresses, a style of all elements of the page
_ALONE = re.compile(
    r"<\?xml.*?\?>|<!DOCTYPE.*?>|<metadata>.*?</metadata>|<style type=\"text/css\">.*?</style>"
    r"|\sxmlns(:\w+)?=\"[^\"]*\"",
    re.DOTALL,
)


@contextmanager
def page_style(name: str) -> Iterator[tuple[Any, Any]]:
    """Yield a figure and its axes, drawn in the page's style; `name` makes the ids in its SVG its own.

    Raises:
        UserError: matplotlib is not installed.
    """
    figure = empty_figure(5.4, 3.7)  # small: its text is read on a phone too
    import matplotlib as mpl

    with mpl.rc_context({**_STYLE, "svg.hashsalt": name}):
        yield figure, figure.add_subplot()


def svg_text(figure: Any) -> str:
    """Return a figure as an SVG element; call it within its `page_style`."""
    draw_names_as_they_stand(figure)
    file = io.StringIO()
    figure.savefig(file, format="svg", metadata={"Date": None})
    text = _ALONE.sub("", file.getvalue()).replace(INK, "currentColor").strip()
    # as wide as its place
    return re.sub(r'<svg height="[^"]*"( version="[^"]*")?( viewBox="[^"]*") width="[^"]*"', r"<svg\2", text, count=1)
