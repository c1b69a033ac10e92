"""The table of a conversion: both models by updates after the switch."""

import json
import sys
from pathlib import Path

import pytest

from fairseq_rope.experiments.conversion import conversion_text, is_conversion
from fairseq_rope.tools import results
from fairseq_rope_data.errors import UserError

VALIDATION = "epoch {epoch:03d} | valid on 'valid' subset | loss {loss} | nll_loss 1 | num_updates {updates} | best 1\n"
ALONE = "2026 | INFO | valid |  | valid on 'valid' subset | loss {} | nll_loss 0.371 | ppl 1.29 | wps 0\n"


def add_scores(folder: Path, bleu: float) -> None:
    folder.mkdir(exist_ok=True)
    names = {"BLEU4": bleu, "chrF2": 60.0}
    scores = [{"name": name, "value": value, "text": "", "signature": "s"} for name, value in names.items()]
    report = {"scores": scores, "buckets": [{"words": "1-10", "sentences": 7, "score": scores[0]}]}
    (folder / "score-test.json").write_text(json.dumps(report))


@pytest.fixture
def work(tmp_path: Path) -> Path:
    for number, name in enumerate(("original", "converted-0", "converted-40", "converted-1000", "continued-40")):
        add_scores(tmp_path / name, 30.0 + number)
    for name, loss in (("converted", 2.5), ("continued", 2.25)):
        add_scores(tmp_path / name, 40.0 + loss)
        lines = [VALIDATION.format(epoch=1, loss=loss + 1, updates=40), "epoch 001 | loss 3 | train_wall 1 | wall 90\n"]
        (tmp_path / name / "train.log").write_text(
            "".join([*lines, VALIDATION.format(epoch=2, loss=loss, updates=1000)])
        )
        (tmp_path / name / "validate.log").write_text(ALONE.format(loss - 0.125))
    (tmp_path / "original" / "validate.log").write_text(ALONE.format(2.125))
    (tmp_path / "converted-0" / "validate.log").write_text(ALONE.format(9))
    return tmp_path


def test_the_original_is_at_0_and_the_averages_stand_last(work: Path):
    text = conversion_text(work)
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines() if line.startswith("|")]
    assert [row for row in rows if not row[1].startswith("-")] == [
        ["", "0", "40", "1,000", "average"],
        ["valid loss, converted", "9.000", "3.500", "2.500", "2.375"],
        ["valid loss, continued", "2.125", "3.250", "2.250", "2.125"],
        ["test: BLEU4, converted", "31.00", "32.00", "33.00", "42.50"],
        ["test: BLEU4, continued", "30.00", "34.00", "", "42.25"],
        ["", "original", "converted, average", "continued, average"],
        ["test: 1-10 words, 7 sentences", "30.00", "42.50", "42.25"],
    ]
    assert "\nMinutes of training: converted 1.5, continued 1.5\n" in text


def test_of_windows_it_says_how_their_sentences_are_and_how_many_are_missing(work: Path):
    for name, wrong in (("original", 1334), ("converted", 7)):
        path = work / name / "score-test.json"
        report = json.loads(path.read_text())
        report["windows"] = {"wrong": wrong, "sentences": {**report["scores"][0], "value": 12.5}, "positions": []}
        path.with_name("score-test-w3.json").write_text(json.dumps(report))
    text = conversion_text(work)
    lines = [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines() if line.startswith("|")]
    rows = {line[0]: line[1:] for line in lines}
    assert rows["test-w3: BLEU by sentence, continued"] == ["12.50", "", "", ""]
    assert rows["test-w3: windows of another number, continued"] == ["1,334", "", "", ""]
    assert rows["test-w3: windows of another number, converted"] == ["", "", "", "7"]


def test_results_prints_it_for_a_conversion_alone(
    work: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    assert is_conversion(work) and not is_conversion(work / "original")
    monkeypatch.setattr(sys, "argv", ["results", str(work)])
    results.main()
    assert capsys.readouterr().out == f"{conversion_text(work)}\n"


def test_without_the_comparison_there_are_the_rows_of_the_converted_model(work: Path):
    (work / "continued" / "train.log").unlink()
    text = conversion_text(work)
    assert (
        "continued" not in text and "| valid loss, converted " in text and "| original | converted, average |" in text
    )


def test_a_log_without_a_loss_is_named(work: Path):
    path = work / "original" / "validate.log"
    path.write_text("Killed\n")
    with pytest.raises(UserError) as caught:
        conversion_text(work)
    assert str(caught.value) == f"{path}: no loss is in this log of fairseq-validate: remove it"
