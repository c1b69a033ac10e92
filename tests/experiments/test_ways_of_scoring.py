"""Scores of one model that were made in different ways have no mean, wherever means are shown."""

import json
from pathlib import Path

import pytest

from fairseq_rope.experiments.block_curves import block_curves
from fairseq_rope.experiments.data import results_data
from fairseq_rope.experiments.length_curves import Point
from fairseq_rope.experiments.results import results_text
from fairseq_rope.experiments.seed_differences import seed_differences
from fairseq_rope.experiments.stages import stages_text
from fairseq_rope.experiments.work_folder import find_models
from fairseq_rope.page.contents import page_contents
from fairseq_rope.page.figures import blocks_figure, length_figure
from fairseq_rope.page.render import render
from fairseq_rope.page.tables import scores_table
from fairseq_rope.page.verdict import verdicts
from tests.support.runs import add_run, cells

WAYS = "scored in 2 ways"
MASKED = "masked:{}|mask:80%,other:10%,same:10%|mask-seed:1"


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """Two seeds of two models, rope lower-cased in one of them."""
    for name, case in (("rope", "lc"), ("rope-seed2", "mixed"), ("sinusoidal", "mixed"), ("sinusoidal-seed2", "mixed")):
        score = {"name": "BLEU", "value": 40.0 if case == "lc" else 30.0, "text": "", "signature": f"case:{case}"}
        report = {"scores": [score], "windows": {"windows": 5, "wrong": 0, "sentences": score, "positions": []}}
        report["buckets"] = [{"words": "1-10", "sentences": 7, "score": score}]
        (add_run(tmp_path, name) / "score-test.json").write_text(json.dumps(report))
    return tmp_path


def rows(text: str) -> dict[str, list[str]]:
    return {cells(line)[0]: cells(line)[1:] for line in text.splitlines() if line.startswith("| test")}


def test_they_have_no_mean_in_text_json_and_page(work: Path):
    mixed = "30.00"
    found = rows(results_text(work).partition("\n\n")[0]) | rows(results_text(work).rpartition("\n\n")[2])
    assert found["test: BLEU"] == found["test: BLEU by sentence"] == [WAYS, mixed]
    assert found["test: 1-10 words, 7 sentences"] == [WAYS, mixed]
    results = results_data(find_models(work))
    bleu = {name: model["statistics"]["test: BLEU"] for name, model in results["models"].items()}
    assert [bleu["rope"][key] for key in ("values", "mean", "sd", "ways")] == [{"1": 40.0, "2": 30.0}, None, None, 2]
    assert [bleu["sinusoidal"][key] for key in ("mean", "ways")] == [30.0, 1]
    page = {row[0].text: [cell.text for cell in row[1:]] for row in scores_table(results).rows}
    assert page["test: BLEU"] == page["test: BLEU by sentence"] == [WAYS, mixed]
    figure = length_figure(results["models"], "test")
    assert figure is not None and [cell.text for cell in figure.table.rows[0]][1:] == [WAYS, mixed]
    assert figure.notes == [f"note on rope, 1-10 words: left out, {WAYS}"]
    assert f"<br>{figure.notes[0]}" in render(page_contents([work]))
    assert verdicts(results) == [f"The trainings of rope have no mean BLEU on test: they are {WAYS}."]
    results["models"] = {"rope": results["models"]["rope"]}
    assert verdicts(results) == [f"The trainings of rope have no mean BLEU on test: they are {WAYS}."]


def test_models_that_were_scored_each_in_a_way_of_its_own_are_not_compared_in_the_verdict(work: Path):
    report = work / "rope" / "score-test.json"
    (work / "rope-seed2" / "score-test.json").write_text(report.read_text())
    results = results_data(find_models(work))
    assert verdicts(results) == [f"sinusoidal and rope cannot be compared in BLEU on test: they are {WAYS}."]
    assert [each["statistics"]["test: BLEU"]["way"] for each in results["models"].values()] == ["case:lc", "case:mixed"]


def test_scores_by_sentence_of_windows_are_no_pairs_either(work: Path):
    names = [each.statistic for each in seed_differences(find_models(work))]
    assert names and not any("BLEU" in name for name in names)


def test_bits_of_masks_of_another_share_have_no_mean(tmp_path: Path):
    for name, share in (("rope", "0.15"), ("rope-seed2", "0.3")):
        scores = [
            {"name": kind, "value": value, "text": "", "signature": MASKED.format(share)}
            for kind, value in (("bits", 5.0), ("accuracy", 30.0))
        ]
        blocks = {"length": 64, "trained_length": 64, "blocks": {"tokens": [1], "bits": [5.0], "correct": [0]}}
        (add_run(tmp_path, name) / "score-valid-64.json").write_text(json.dumps({"scores": scores, **blocks}))
    assert stages_text(tmp_path).count(WAYS) == 4  # loss and accuracy at its own length, in both tables
    curves = block_curves(find_models(tmp_path), "valid")
    assert curves == {"rope (2 seeds)": [Point(64, 1.0, None, None, ways=2)]}
    figure = blocks_figure(curves, "valid")
    assert figure.notes == [f"note on rope (2 seeds), 64 tokens: left out, {WAYS}"]
    assert [[cell.text for cell in row] for row in figure.table.rows] == [["64 (1.00)", WAYS]]
