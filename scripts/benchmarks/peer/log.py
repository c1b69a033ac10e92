"""What eole's log says: target tokens a second in training, seconds of a search."""

import re
import statistics
from pathlib import Path

from fairseq_rope_data.errors import UserError

_STEP = re.compile(r"Step +([0-9]+)/ *[0-9]+; .* [0-9]+/ *([0-9]+) tok/s;")
_SEARCH = re.compile(r"(?:Step 0 time|Subsequent prediction time including all) \(s\): ([0-9.]+)")


def training_rates(path: Path) -> list[tuple[int, float]]:
    """Return the update and the target tokens a second of each report, in the order of the log."""
    return [(int(match[1]), float(match[2])) for match in _STEP.finditer(_text(path))]


def training_rate(path: Path) -> float:
    """Return the median of the reports' target tokens a second: the few with a validation don't move it.

    Raises:
        UserError: the log has no report.
    """
    rates = [rate for _, rate in training_rates(path)]
    if not rates:
        raise UserError(f"{path}: eole reports no training in this log")
    return statistics.median(rates)


def search_seconds(text: str) -> float:
    """Return the seconds of a search, loading left out, from what `eole predict` prints with `report_time`.

    Raises:
        UserError: the text has none.
    """
    seconds = [float(match[1]) for match in _SEARCH.finditer(text)]
    if len(seconds) != 2:
        raise UserError("eole predict must print the time of its search (report_time), but did not")
    return sum(seconds)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}") from None
