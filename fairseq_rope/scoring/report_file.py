"""A score report as text and as JSON; reading the JSON again checks its form."""

import dataclasses
import itertools
import json
import math
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from fairseq_rope.scoring.classification import METRICS
from fairseq_rope.scoring.prediction_report import PredictionReport
from fairseq_rope.scoring.report import Report
from fairseq_rope_data.errors import UserError


def report_text(report: Report | PredictionReport) -> str:
    """Return a report as text for people: a line for each score and one for its signature."""
    windows = isinstance(report, Report) and report.windows is not None
    counted = "windows" if windows else "sentences" if isinstance(report, Report) else "examples"
    lines = [f"{report.sentences} {counted}"]
    for entry in report.scores:
        lines += [entry.text, f"    {entry.signature}"]
    if isinstance(report, Report):
        lines += _translation_lines(report)
    return "\n".join(lines + [f"note: {note}" for note in report.notes])


def _translation_lines(report: Report) -> list[str]:
    lines = []
    if report.buckets:
        lines.append("BLEU by words of the source:")
    for bucket in report.buckets:
        lines.append(f"    {bucket.words:5} in {bucket.sentences} sentences: {bucket.score.text}")
    if report.windows is not None:
        wrong = f"{report.windows.wrong} of {report.windows.windows} windows have another number of them"
        lines += [f"BLEU by sentence, {wrong}:", f"    all   {report.windows.sentences.text}"]
        for place in report.windows.positions:
            lines.append(f"    {place.position:<5} of a window, {place.sentences} sentences: {place.score.text}")
    return lines


def report_json(report: Report | PredictionReport, packages: Sequence[str] = ("sacrebleu", "sacremoses")) -> str:
    """Return a report, with the versions of the packages that have scored, as a JSON object on one line."""
    fields: dict[str, Any] = {**dataclasses.asdict(report), "versions": {name: version(name) for name in packages}}
    fields.pop("raw_hyps", None)
    if fields.get("windows", 0) is None:
        del fields["windows"]
    return json.dumps(fields, ensure_ascii=False)


def read_report(path: Path) -> dict[str, Any]:
    """Return what `report_json` wrote: `scores` with `name`, `value` and `signature`, and perhaps other fields of it.

    So with `masked_report.masked_json`, whose scores have `decimals` and `lower_is_better` too.

    Raises:
        UserError: the file is no such report.
    """
    what = "not what tools.score --json writes"
    try:
        report = json.loads(path.read_text(encoding="utf-8-sig"))
        _check(report)
    except json.JSONDecodeError as error:
        raise UserError(f"{path}:{error.lineno}: {what}: {error.msg}") from error
    except KeyError as error:
        raise UserError(f"{path}: {what}: no {error}") from error
    except (RecursionError, ValueError) as error:  # a number of 5,000 digits, or bytes that are no UTF-8
        raise UserError(f"{path}: {what}: {error}") from error
    return dict(report)


def _check(report: Any) -> None:
    _expect(report, Mapping, "the report")
    for score in _expect(report["scores"], list, "scores"):
        _check_score(score)
    for bucket in _expect(report.get("buckets", []), list, "buckets"):
        _expect(_expect(bucket, Mapping, "a bucket")["words"], str, "words of a bucket")
        _expect(bucket["sentences"], int, "sentences of a bucket")
        _check_score(bucket["score"])
    if "windows" in report:
        _expect(_expect(report["windows"], Mapping, "windows")["wrong"], int, "wrong of windows")
        _check_score(report["windows"]["sentences"])
    if "blocks" in report or "trained_length" in report:
        _check_masked(report)
    if "blocks" in report:
        _check_blocks(report)
    for note in _expect(report.get("notes", []), list, "notes"):
        _expect(note, str, "a note")
    if "classes" in _expect(report.get("settings", {}), Mapping, "settings"):
        _check_predictions(report)


def _check_predictions(report: Any) -> None:
    for each in _expect(report["settings"]["classes"], list, "classes"):
        _expect(each, str, "a class")
    *others, last = METRICS
    for score in report["scores"]:
        if score["name"] not in METRICS:
            raise ValueError(f"a score of predictions must be {', '.join(others)} or {last}, but is {score['name']}")


def _check_blocks(report: Any) -> None:
    blocks = _expect(report["blocks"], Mapping, "blocks")
    columns = [_expect(blocks[name], list, f"{name} of blocks") for name in ("tokens", "bits", "correct")]
    if len(blocks) > len(columns) or len({len(column) for column in columns}) > 1:
        raise ValueError("blocks must be tokens, bits and correct, as many of each")
    for value in itertools.chain(*columns):
        _check_number(_expect(value, (int, float), "a number of blocks"), "a number of blocks")


def _check_masked(report: Any) -> None:
    for score in report["scores"]:
        if score["name"] not in ("bits", "accuracy"):
            raise ValueError(f"a score of masked tokens must be bits or accuracy, but is {score['name']}")
    for name in ("length", "trained_length"):
        if _expect(report[name], int, name) < 1:
            raise ValueError(f"{name} must be at least 1, but is {report[name]}")


def _check_score(score: Any) -> None:
    for key in ("name", "signature"):
        _expect(_expect(score, Mapping, "a score")[key], str, f"{key} of a score")
    _check_number(_expect(score["value"], (int, float), f"value of {score['name']}"), f"value of {score['name']}")
    if "decimals" in score and not 0 <= _expect(score["decimals"], int, "decimals of a score") <= 9:
        raise ValueError(f"decimals of {score['name']} must be from 0 to 9")


def _check_number(value: float, named: str) -> None:
    if not (abs(value) < math.inf and abs(value) <= 1e9):
        raise ValueError(f"{named} must be a score, but is {str(value)[:40]}")


def _expect(value: Any, kind: Any, named: str) -> Any:
    if not isinstance(value, kind) or isinstance(value, bool):
        raise ValueError(f"{named} must not be {json.dumps(value)[:40]}")
    return value
