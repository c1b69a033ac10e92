"""Statistics, tables and files of figures, as all benchmarks write them."""

import json
import statistics
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from fairseq_rope_data.files import complete_file

Row = dict[str, Any]


def spread(values: Sequence[float]) -> dict[str, Any]:
    """Return the median, the least, the greatest and all of them."""
    return {"median": statistics.median(values), "least": min(values), "greatest": max(values), "all": list(values)}


def ranged(values: Sequence[float], form: str, unit: str = "") -> str:
    """Return the median, with its unit, and the least and the greatest behind it, each written as `form` says."""
    median, least, greatest = (form.format(value) for value in (statistics.median(values), min(values), max(values)))
    return f"{median}{unit} ({least} to {greatest})"


def table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table in Markdown."""
    head, *lines = (f"| {' | '.join(cells)} |" for cells in (headings, *rows))
    return "\n".join([head, "|" + "---|" * len(headings), *lines])


def write_json(path: Path | None, figures: Row) -> None:
    """Write figures into a file that is complete or not there, where one is asked for."""
    if path:
        with complete_file(path) as part:
            part.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
