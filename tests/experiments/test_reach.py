"""What a model needs to reach another one's best loss, and which seeds make pairs."""

import json
from pathlib import Path

import pytest

from fairseq_rope.experiments.data import results_data, results_json
from fairseq_rope.experiments.pairs import ONE_SEED
from fairseq_rope.experiments.reach import TITLE
from fairseq_rope.experiments.results import chosen_results_text, results_text
from fairseq_rope.experiments.work_folder import find_models
from fairseq_rope.page.tables import reach_table, scores_table
from fairseq_rope_data.errors import UserError
from tests.support.runs import add_run, cells


def add_curve(work: Path, name: str, losses: list[float], *, pace: float = 1, end: bool = True) -> None:
    """Make a run with a validation every 100 updates, each of which takes `pace` seconds."""
    (work / name).mkdir()
    lines = ["num. shared model params: 9 (num. trained: 9)"]
    for epoch, loss in enumerate(losses, start=1):
        updates, wall = 100 * epoch, 100 * epoch * pace
        lines.append(f"epoch {epoch:03} | valid on 'valid' subset | loss {loss} | nll_loss 1 | num_updates {updates}")
        lines.append(f"epoch {epoch:03} | loss 9 | num_updates {updates} | lr 1 | train_wall 1 | wall {wall:.0f}")
    (work / name / "train.log").write_text("\n".join([*lines, *["done training in 9.0 seconds"] * end, ""]))


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """Two seeds of rope, which is faster by updates and slower in seconds; one of its seeds is never reached."""
    add_curve(tmp_path, "rope", [6, 5, 4.5, 4.5], pace=2)
    add_curve(tmp_path, "rope-seed2", [6, 5, 4.75, 4.5], pace=2)
    add_curve(tmp_path, "sinusoidal", [7, 6, 5.5, 5])
    add_curve(tmp_path, "sinusoidal-seed2", [7, 6, 4.5, 4.75])
    return tmp_path


def test_updates_and_seconds_are_those_of_the_first_validation_that_is_as_good(work: Path):
    report = json.loads(results_json(work))["reach"]
    first, second = report
    assert (first["model"], first["other"], first["losses"]) == ("rope", "sinusoidal", {"1": 5, "2": 4.5})
    assert first["reached"] == [1, 2]
    assert first["updates"] == {
        "values": {"1": 200, "2": 400},
        "other": {"1": 400, "2": 300},
        "mean": 300,
        "other_mean": 350,
        "ratio": pytest.approx((200 / 400 * 400 / 300) ** 0.5),
    }
    assert first["seconds"]["values"] == {"1": 400, "2": 800} and first["seconds"]["other"] == {"1": 400, "2": 300}
    assert (second["model"], second["other"], second["reached"]) == ("sinusoidal", "rope", [2])
    assert second["updates"]["values"] == {"1": None, "2": 300}
    # what the other needed counts in the same seeds only
    assert (second["updates"]["mean"], second["updates"]["other_mean"]) == (300, 400)
    assert second["seconds"]["ratio"] == pytest.approx(300 / 800)


def reach_rows(work: Path, *names: str) -> list[list[str]]:
    sections = results_text(work, names).split("\n\n")
    return [cells(line) for line in sections[sections.index(TITLE) + 1].splitlines()[2:]]


def test_the_table_says_in_how_many_seeds_a_loss_is_never_reached(work: Path):
    assert reach_rows(work) == [
        ["rope to reach sinusoidal", "4.750", "300 of 350 (× 0.82)", "10.0 of 5.8 (× 1.63)"],
        [
            "sinusoidal to reach rope",
            "4.500",
            "300 of 400 (× 0.75), never in 1 of 2 seeds",
            "5.0 of 13.3 (× 0.38), never in 1 of 2 seeds",
        ],
    ]
    add_curve(work, "slow", [9, 8])
    add_curve(work, "slow-seed2", [9, float("nan")])
    assert reach_rows(work, "rope", "slow")[1] == ["slow to reach rope", "4.500", "never", "never"]
    effort = json.loads(results_json(work, ["rope", "slow"]))["reach"][1]["updates"]
    assert (effort["values"], effort["mean"], effort["ratio"]) == ({"1": None, "2": None}, None, None)


def test_a_log_without_times_has_updates_only(work: Path):
    for log in work.glob("*/train.log"):
        log.write_text("".join(line for line in log.read_text().splitlines(keepends=True) if "wall" not in line))
    assert reach_rows(work)[0][2:] == ["300 of 350 (× 0.82)", ""]
    assert json.loads(results_json(work))["reach"][0]["seconds"]["values"] == {"1": None, "2": None}


def test_means_of_minutes_say_in_how_many_seeds_a_log_has_no_time(work: Path):
    log = work / "rope-seed2" / "train.log"
    log.write_text("".join(line for line in log.read_text().splitlines(keepends=True) if "wall" not in line))
    assert [row[3] for row in reach_rows(work)] == ["6.7 of 6.7 (× 1.00), unknown in 1 of 2 seeds", ""]
    rows = reach_table(results_data(find_models(work))).rows
    assert [row[3].text for row in rows] == ["6.7 (6.7), of 1 of 2 seeds", "unknown"]


def test_losses_that_are_no_numbers_are_reached_by_nobody(work: Path):
    add_curve(work, "broken", [float("nan")])
    assert [row[0] for row in reach_rows(work, "rope", "broken")] == ["broken to reach rope"]


def test_one_seed_of_each_says_so_once_and_several_do_not(work: Path):
    assert ONE_SEED not in results_text(work)
    for name in ("rope-seed2", "sinusoidal-seed2"):
        (work / name / "train.log").unlink()
    assert results_text(work).count(ONE_SEED) == results_text(work).count("noise of training") == 1
    assert chosen_results_text(work, [], ["parameters"]).count(ONE_SEED) == 1


@pytest.mark.parametrize(
    ("names", "note"),
    [
        (
            ["x"],
            "rope has seeds 1, 2, x has seed 1: compared by seed 1, which says nothing about the noise of training",
        ),
        (["x-seed3"], "rope has seeds 1, 2, x has seed 3: no seed is of both, so they are not compared by seed"),
        (["x", "x-seed2", "x-seed3"], "rope has seeds 1, 2, x has seeds 1, 2, 3: compared by seeds 1, 2"),
    ],
    ids=["one is shared", "none is shared", "more"],
)
def test_seeds_that_make_no_pairs_are_told(work: Path, names: list[str], note: str):
    note = f"note: {note}"
    for name in names:
        add_run(work, name, bleu4=40.0)
    assert note in results_text(work, ["rope", "x"]).split("\n\n")
    report = json.loads(results_json(work, ["rope", "x"]))
    assert report["notes"] == [note]
    if names == ["x-seed3"]:
        assert report["reach"] == report["seed_differences"] == report["bootstraps"] == []


def test_a_training_that_has_not_ended_is_told(work: Path):
    add_curve(work, "half", [7, 6], end=False)
    note = "note on half: its training has not ended: 200 updates so far"
    assert note in results_text(work).splitlines()
    report = json.loads(results_json(work))
    assert note in report["notes"]
    assert [
        curve["finished"] for model in ("half", "rope") for curve in report["models"][model]["curves"].values()
    ] == [
        False,
        True,
        True,
    ]


def test_a_training_that_has_not_caught_up_is_in_no_mean_and_no_difference(tmp_path: Path):
    for name, losses in {"rope": [6, 5, 4], "rope-seed2": [6, 5, 4.5], "alibi": [7, 6, 5], "alibi-seed2": [7]}.items():
        add_curve(tmp_path, name, losses, end=name != "alibi-seed2")
    text = results_text(tmp_path, ["rope", "alibi"])
    row = next(cells(line) for line in text.splitlines() if "valid loss, best" in line)
    assert row == ["valid loss, best", "4.250 ± 0.354 (epoch 3)", "5.000 (epoch 3) (1 of 2)"]
    assert "over seeds, paired by seed" not in text, "one pair has no interval"
    report = json.loads(results_json(tmp_path, ["rope", "alibi"]))
    loss = report["models"]["alibi"]["statistics"]["valid loss, best"]
    assert (loss["values"], loss["counted"], loss["mean"], loss["sd"]) == ({"1": 5, "2": 7}, [1], 5, None)
    assert [each["losses"] for each in report["reach"]] == [{"1": 5}, {"1": 4}]
    shown = scores_table(report).rows
    assert [cell.text for row in shown if row[0].text == "valid loss, best" for cell in row[1:]] == [
        "4.250 ± 0.354",
        "5.000 (1 of 2)",
    ]


def test_where_no_training_has_caught_up_it_is_told_how_far_they_are(tmp_path: Path):
    add_curve(tmp_path, "rope", [6, 5, 4])
    add_curve(tmp_path, "alibi", [7, 6], end=False)
    (first, _) = json.loads(results_json(tmp_path, ["rope", "alibi"]))["reach"]
    assert first["losses"] == {"1": 6} and first["updates"]["mean"] == 100


def test_a_training_that_ended_early_counts(tmp_path: Path):
    for name, losses in {"rope": [6, 5, 4], "rope-seed2": [6, 5], "alibi": [7, 6], "alibi-seed2": [7, 5]}.items():
        add_curve(tmp_path, name, losses)
    report = json.loads(results_json(tmp_path, ["rope", "alibi"]))
    assert report["models"]["rope"]["statistics"]["valid loss, best"]["counted"] == [1, 2]
    (loss,) = (each for each in report["seed_differences"] if each["statistic"] == "valid loss, best")
    assert loss["values"] == {"1": 2, "2": 0}


def test_curves_are_those_of_each_run(work: Path):
    assert json.loads(results_json(work))["models"]["rope"]["curves"]["2"] == {
        "folder": "rope-seed2",
        "finished": True,
        "updates": [100, 200, 300, 400],
        "epochs": [1, 2, 3, 4],
        "losses": [6, 5, 4.75, 4.5],
        "seconds": [200, 400, 600, 800],
    }


def test_a_run_that_cannot_be_read_is_named_and_not_left_out(work: Path, tmp_path: Path):
    lost = work / "sinusoidal-seed3"
    for make in (lambda: lost.symlink_to(tmp_path / "unmounted"), lost.touch):
        make()
        with pytest.raises(UserError, match=f"^{lost} must be the folder of a run, but is none that can be read$"):
            results_text(work)
        results_text(work, ["rope"])
        lost.unlink()
    (work / "raw").symlink_to(tmp_path / "unmounted")  # it is no run
    log = work / "rope-seed2" / "train.log"
    log.unlink()
    for make in (lambda: log.symlink_to("lr-1e-3/train.log"), log.mkdir):
        make()
        with pytest.raises(UserError, match=f"^there is no training log {log}$"):
            results_text(work)
        results_text(work, ["sinusoidal"])
        log.unlink() if log.is_symlink() else log.rmdir()
    (work / "rope" / "pretrained").write_bytes(b"runs/m\xff\n")  # a path need not be text
    results_text(work)


def test_a_run_without_a_validation_is_left_out_and_told(work: Path):
    for name in ("rope-seed2", "new"):
        (work / name).mkdir(exist_ok=True)
        (work / name / "train.log").write_text("num. shared model params: 9 (num. trained: 9)\n")
    notes = [f"note on {name}: left out, no validation is in its log" for name in ("new", "rope-seed2")]
    text = results_text(work)
    assert cells(text.splitlines()[0]) == ["", "rope", "sinusoidal (2 seeds)"]
    assert [line for line in text.splitlines() if "left out" in line] == notes
    report = json.loads(results_json(work))
    assert report["notes"][:2] == notes and list(report["models"]) == ["rope", "sinusoidal"]
    assert notes[1] in chosen_results_text(work, [], ["parameters"])
    with pytest.raises(UserError, match=r"new/train\.log: no validation is in this log"):
        results_text(work, ["new"])
