"""Reports that are read again: what `score --json` would not write is refused."""

import itertools
import json
from pathlib import Path

import pytest

from fairseq_rope.scoring.report_file import read_report
from fairseq_rope_data.errors import UserError


def changed_report(**changes: object) -> str:
    """What score --json writes, with changes."""
    score = {"name": "BLEU", "value": 41.2, "signature": "tok:13a", **changes.pop("score", {})}  # type: ignore[dict-item]
    bucket = {"words": "1-10", "sentences": 5, "score": score, **changes.pop("bucket", {})}  # type: ignore[dict-item]
    return json.dumps({"scores": [score], "buckets": [bucket], "notes": ["x"], "settings": {}, **changes})


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", ":1: not what tools.score --json writes: Expecting value"),
        (changed_report()[:30], ":1: not what tools.score --json writes: Unterminated string"),
        ("\0" * 50, ":1: not what tools.score --json writes: Expecting value"),
        ("[]", ": not what tools.score --json writes: the report must not be []"),
        ("{}", ": not what tools.score --json writes: no 'scores'"),
        (changed_report(scores=None), "scores must not be null"),
        (changed_report(scores=["x"]), 'a score must not be "x"'),
        (changed_report(score={"value": "41"}), 'value of BLEU must not be "41"'),
        (changed_report(score={"value": True}), "value of BLEU must not be true"),
        (changed_report(score={"value": float("nan")}), "value of BLEU must be a score, but is nan"),
        (changed_report(score={"value": 10**400}), "value of BLEU must be a score, but is 1000000"),
        (changed_report().replace("41.2", "1e999"), "value of BLEU must be a score, but is inf"),
        (changed_report().replace("41.2", "9" * 5000), "integer string conversion"),
        (changed_report(score={"name": 5}), "name of a score must not be 5"),
        (changed_report(bucket={"sentences": "5"}), 'sentences of a bucket must not be "5"'),
        (changed_report(bucket={"score": None}), "a score must not be null"),
        (changed_report(buckets=None), "buckets must not be null"),
        (changed_report(notes=[1]), "a note must not be 1"),
        (changed_report(settings=[]), "settings must not be []"),
        (changed_report(settings={"classes": 3}), "classes must not be 3"),
        (changed_report(settings={"classes": [["0"]]}), 'a class must not be ["0"]'),
        (changed_report(settings={"classes": []}), "a score of predictions must be accuracy, f1, "),
        (changed_report(windows=[]), "windows must not be []"),
        (changed_report(windows={"wrong": "1"}), 'wrong of windows must not be "1"'),
        (changed_report(windows={"wrong": 1, "sentences": None}), "a score must not be null"),
        (changed_report(trained_length=16), "a score of masked tokens must be bits or accuracy, but is BLEU"),
        (changed_report(scores=[], trained_length=16), "no 'length'"),
        (changed_report(scores=[], length=16, trained_length="16"), 'trained_length must not be "16"'),
        ("[" * 100_000, "maximum recursion depth exceeded"),
        (b'{"scores": [{"name": "\xe4"}]}', "can't decode byte 0xe4"),
    ],
    ids=itertools.count(),  # some texts are long
)
def test_a_report_that_score_did_not_write_is_named(tmp_path: Path, text: str | bytes, reason: str):
    path = tmp_path / "score-test.json"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(UserError) as caught:
        read_report(path)
    assert str(caught.value).startswith(str(path)) and reason in str(caught.value)


def test_a_report_with_a_byte_order_mark_and_other_line_ends_is_the_same(tmp_path: Path):
    path = tmp_path / "score-test.json"
    path.write_text(changed_report())
    plain = read_report(path)
    path.write_bytes(
        b"\xef\xbb\xbf" + json.dumps(json.loads(changed_report()), indent=1).replace("\n", "\r\n").encode()
    )
    assert read_report(path) == plain
