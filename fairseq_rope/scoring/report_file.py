"""Read what `score --json` writes, and refuse what it would not write."""

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fairseq_rope_data.errors import UserError


def read_report(path: Path) -> dict[str, Any]:
    """Give a report: `scores` with `name`, `value` and `signature`, and perhaps `buckets`, `notes` and `settings`.

    Raises:
        UserError: the file is no such report.
    """
    where, what = f"{path}", "not what tools.score --json writes"
    try:
        report = json.loads(path.read_text(encoding="utf-8-sig"))
        _check(report)
    except json.JSONDecodeError as error:
        raise UserError(f"{where}:{error.lineno}: {what}: {error.msg}") from error
    except KeyError as error:
        raise UserError(f"{where}: {what}: no {error}") from error
    except (RecursionError, ValueError) as error:  # a number of 5,000 digits, or bytes that are no UTF-8
        raise UserError(f"{where}: {what}: {error}") from error
    return dict(report)


def _check(report: Any) -> None:
    _expect(report, Mapping, "the report")
    for score in _expect(report["scores"], list, "scores"):
        _check_score(score)
    for bucket in _expect(report.get("buckets", []), list, "buckets"):
        _expect(_expect(bucket, Mapping, "a bucket")["words"], str, "words of a bucket")
        _expect(bucket["sentences"], int, "sentences of a bucket")
        _check_score(bucket["score"])
    for note in _expect(report.get("notes", []), list, "notes"):
        _expect(note, str, "a note")
    _expect(report.get("settings", {}), Mapping, "settings")


def _check_score(score: Any) -> None:
    for key in ("name", "signature"):
        _expect(_expect(score, Mapping, "a score")[key], str, f"{key} of a score")
    value = _expect(score["value"], (int, float), f"value of {score['name']}")
    if not (abs(value) < math.inf and abs(value) <= 1e9):
        raise ValueError(f"value of {score['name']} must be a score, but is {str(value)[:40]}")


def _expect(value: Any, kind: Any, named: str) -> Any:
    if not isinstance(value, kind) or isinstance(value, bool):
        raise ValueError(f"{named} must not be {json.dumps(value)[:40]}")
    return value
