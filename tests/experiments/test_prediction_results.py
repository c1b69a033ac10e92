"""Results of classification: models beside baselines that were never trained, and paired bootstraps of predictions."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from fairseq_rope.experiments.data import results_json
from fairseq_rope.experiments.results import results_text
from fairseq_rope.page.contents import page_contents
from fairseq_rope.page.render import render
from fairseq_rope.scoring.prediction_report import report_on
from fairseq_rope.scoring.predictions import Predictions, write_predictions
from fairseq_rope.scoring.report_file import report_json

LOG = """| INFO | fairseq_cli.train | num. shared model params: 5,000 (num. trained: 5,000)
| INFO | valid | epoch 001 | valid on 'valid' subset | loss 0.{loss} | num_updates 10
| INFO | train | epoch 001 | wps 10 | num_updates 10 | train_wall 1 | wall 2
| INFO | fairseq_cli.train | done training in 2.0 seconds
"""
LABELS = [str(i % 2) for i in range(60)]


def run_of(work: Path, name: str, *, right: float, seed: int = 1, trained: bool = True) -> Path:
    folder = work / (name if seed == 1 else f"{name}-seed{seed}")
    folder.mkdir()
    dice = np.random.default_rng(seed)
    predictions = [label if dice.random() < right else "01"[label == "0"] for label in LABELS]
    found = Predictions(("0", "1"), LABELS, predictions)
    write_predictions(found, folder / "predictions-valid.tsv")
    (folder / "score-valid.json").write_text(report_json(report_on(found, ["f1", "accuracy"]), ("scikit-learn",)))
    if trained:
        (folder / "train.log").write_text(LOG.replace("{loss}", str(70 - seed)))
    else:
        (folder / "baseline.txt").write_text("not trained\n")
    return folder


@pytest.fixture
def work(tmp_path: Path) -> Path:
    for seed in (1, 2, 3):
        run_of(tmp_path, "roformer", right=0.9, seed=seed)
        run_of(tmp_path, "bert", right=0.7, seed=seed)
    first = run_of(tmp_path, "majority", right=0.5, trained=False)
    for seed in (2, 3):
        (tmp_path / f"majority-seed{seed}").symlink_to(first.name)
    return tmp_path


NAMES = ("roformer", "bert", "majority")


def test_a_baseline_has_a_column_with_scores_alone_and_is_compared_by_seed(work: Path):
    text = results_text(work, NAMES)
    lines = {line.split("|")[1].strip(): line.split("|")[2:-1] for line in text.splitlines() if line.startswith("|")}
    assert [cell.strip() for cell in lines[""]][:0] == []
    assert "| parameters        | 5,000" in text or "| parameters" in text
    assert [cell.strip() for cell in lines["parameters"]][-1] == ""
    assert "±" in lines["valid: f1"][0] or "valid: f1" in lines
    assert "Difference from roformer over seeds" in text and "majority (3 seeds)" in text
    assert text.count("Paired bootstrap on valid, pooled over the seeds 1, 2, 3") == 2


def test_the_bootstrap_of_predictions_is_in_the_data(work: Path):
    data = json.loads(results_json(work, NAMES))
    found = {(each["model"], each["metric"]): each for each in data["bootstraps"]}
    assert [*found] == [(model, metric) for model in ("bert", "majority") for metric in ("f1", "accuracy")]
    each = found["majority", "accuracy"]
    means = [data["models"][name]["statistics"]["valid: accuracy"]["mean"] for name in ("majority", "roformer")]
    assert each["mean"] == pytest.approx(means[0] - means[1])
    assert each["low"] < each["mean"] < each["high"] < 0 and each["p_value"] < 0.01
    assert data["models"]["majority"]["curves"] == {} and len(data["models"]["bert"]["curves"]) == 3
    (reach,) = {(one["model"], one["other"]) for one in data["reach"]} - {("bert", "roformer")}
    assert reach == ("roformer", "bert")


def test_a_model_that_was_scored_in_another_way_is_not_compared(work: Path):
    found = Predictions(("0", "1"), LABELS, LABELS)
    report = report_json(report_on(found, ["matthews"]), ("scikit-learn",))
    for seed in ("", "-seed2", "-seed3"):
        (work / f"bert{seed}" / "score-valid.json").write_text(report)
    data = json.loads(results_json(work, NAMES))
    assert {each["model"] for each in data["bootstraps"]} == {"majority"}


def test_the_page_says_what_the_task_is_scored_by(work: Path):
    contents = page_contents([work], NAMES)
    assert all("f1 on valid" in sentence for sentence in contents["verdicts"]) and len(contents["verdicts"]) == 2
    assert "majority is" in contents["verdicts"][1]
    assert "Test-set noise" in render(contents)


def test_predictions_of_one_class_alone_are_remarked_below_the_table_once_for_all_seeds(work: Path):
    assert "every prediction" not in results_text(work, NAMES)
    for seed in (1, 2):
        folder = run_of(work, "collapsed", right=0.5, seed=seed)
        found = Predictions(("0", "1"), LABELS, ["1"] * len(LABELS))
        report = report_on(found, ["accuracy", "matthews"])
        (folder / "score-valid.json").write_text(report_json(report, ("scikit-learn",)))
    remark = (
        "note on valid of collapsed, collapsed-seed2: every prediction is 1, so matthews is undefined and counts as 0"
    )
    assert results_text(work, [*NAMES, "collapsed"]).partition("\n\n")[0].splitlines()[-1] == remark
    assert remark in page_contents([work])["missing"] and remark in json.loads(results_json(work))["notes"]


def test_examples_that_are_cut_are_remarked_below_the_table_once_for_all_runs(work: Path):
    notes = {"roformer": "7 of 60 examples are cut to 32 tokens", "bert": "9 of 60 examples are cut to 16 tokens"}
    for name, note in notes.items():
        for seed in ("", "-seed2", "-seed3"):
            path = work / f"{name}{seed}" / "score-valid.json"
            report = json.loads(path.read_text())
            path.write_text(json.dumps({**report, "notes": [note, "wrote submission/SST-2.tsv"]}))
    remarks = [f"note on valid of {name}, {name}-seed2, {name}-seed3: {note}" for name, note in sorted(notes.items())]
    text = results_text(work, sorted(NAMES)).partition("\n\n")[0]
    assert text.splitlines()[-2:] == remarks
    assert {*remarks} <= {*page_contents([work])["missing"]} and "wrote" not in text


def test_examples_of_one_label_alone_are_remarked_below_the_table(work: Path):
    found = Predictions(("0", "1"), ["0"] * len(LABELS), LABELS)
    report = report_on(found, ["accuracy", "f1", "matthews"])
    note = "every label is 0, so matthews is undefined and counts as 0"
    assert report.notes == [note] and [score.value for score in report.scores] == [50, 0, 0]
    assert report_on(replace(found, predictions=found.labels), ["accuracy"]).notes == [
        "every prediction is 0",
        "every label is 0",
    ]
    (work / "bert" / "score-valid.json").write_text(report_json(report, ("scikit-learn",)))
    assert f"note on valid of bert: {note}" in results_text(work, NAMES).splitlines()


def test_what_is_undefined_of_equal_predictions_is_said_of_the_scores_that_there_are():
    notes = [
        report_on(Predictions(classes, LABELS, ["1"] * len(LABELS)), metrics).notes
        for classes, metrics in ((("0", "1"), ["accuracy", "f1"]), ((), ["pearson", "spearman"]))
    ]
    undefined = "so pearson and spearman are undefined and count as 0"
    assert notes == [["every prediction is 1"], [f"every prediction is 1, {undefined}"]]
