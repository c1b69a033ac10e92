"""The page as HTML: page.html.j2 and page.css filled with `contents.page_contents`."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

_FOLDER = Path(__file__).parent


def render(contents: Mapping[str, Any]) -> str:
    """Return the page; all text in it is escaped, and the same contents give the same bytes."""
    templates = Environment(
        loader=FileSystemLoader(_FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    templates.filters["svg"] = Markup  # what matplotlib wrote, which escapes text itself
    css = Markup((_FOLDER / "page.css").read_text(encoding="utf-8"))
    return templates.get_template("page.html.j2").render(css=css, **contents)
