"""Scores over lengths: their numbers, and those of the picture."""

import json
import statistics
import sys
from pathlib import Path

import pytest

from fairseq_rope.experiments import length_figure
from fairseq_rope.experiments.length_curves import Point, length_curves
from fairseq_rope.experiments.work_folder import find_models
from fairseq_rope.tools import plot
from fairseq_rope_data.errors import UserError
from tests.support.runs import add_run

TEXT = {
    "train.en": ["a b c d e f g", "a"],  # the longest: 8 tokens with the end
    "test.en": ["a", "a b c"],
    "test-w2.en": ["a <sep> a b c"],
    "test-w12.en": ["a " * 23],
    "test-window.en": ["x"],
    "test-w4.de": ["x"],
}
SCORES = {
    "rope": {"test": 40.0, "test-w2": 30.0, "test-w12": 5.0},
    "rope-seed2": {"test": 42.0, "test-w2": 33.0, "test-w12": 6.0},
    "alibi": {"test": 39.0, "test-w12": 10.0},
    "none": {},
}


@pytest.fixture
def work(tmp_path: Path) -> Path:
    (tmp_path / "text").mkdir()
    for name, lines in TEXT.items():
        (tmp_path / "text" / name).write_text("".join(f"{line}\n" for line in lines))
    for run, scores in SCORES.items():
        add_run(tmp_path, run)
        for name, value in scores.items():
            score = {"name": "BLEU", "value": value, "text": f"BLEU = {value}", "signature": "tok:13a"}
            report = {"scores": [{**score, "name": "BLEU4", "value": 1.0}, score]}
            (tmp_path / run / f"score-{name}.json").write_text(json.dumps(report))
    return tmp_path


def test_lengths_are_those_of_the_longest_training_example_and_scores_means_over_seeds(work: Path):
    curves = length_curves(work, find_models(work, ["rope", "alibi", "none"]), "test", "en")
    assert curves == {
        "rope (2 seeds)": [
            Point(1, (2 + 4) / 2 / 8, 41.0, statistics.stdev([40, 42])),
            Point(2, 6 / 8, 31.5, statistics.stdev([30, 33])),
            Point(12, 24 / 8, 5.5, statistics.stdev([5, 6])),
        ],
        "alibi": [Point(1, 3 / 8, 39.0, None), Point(12, 3.0, 10.0, None)],
        "none": [],
    }


def drawn(work: Path, monkeypatch: pytest.MonkeyPatch, *options: str):
    """Draw by the command line; give the axes and the output."""
    figures = []
    write = length_figure.write_figure
    monkeypatch.setattr(length_figure, "write_figure", lambda figure, to: (figures.append(figure), write(figure, to)))
    output = work / "lengths.png"
    arguments = ["plot", str(work), "--output", str(output), "--windows", "test", "--source-lang", "en", *options]
    monkeypatch.setattr(sys, "argv", arguments)
    plot.main()
    assert output.read_bytes().startswith(b"\x89PNG")
    return figures[0].axes[0]


def test_the_picture_has_the_numbers_and_shades_what_is_no_longer_than_in_training(
    work: Path, monkeypatch: pytest.MonkeyPatch
):
    axes = drawn(work, monkeypatch, "--models", "rope", "alibi", "none")
    lines = {bars.get_label(): bars.lines[0].get_xydata().tolist() for bars in axes.containers}
    assert lines == {"rope (2 seeds)": [[0.375, 41.0], [0.75, 31.5], [3.0, 5.5]], "alibi": [[0.375, 39.0], [3.0, 10.0]]}
    (whiskers,) = axes.containers[0].lines[2]
    spread = statistics.stdev([30, 33])
    assert whiskers.get_segments()[1].tolist() == [[0.75, 31.5 - spread], [0.75, pytest.approx(31.5 + spread)]]
    (shade,) = axes.patches
    assert shade.get_extents().transformed(axes.transData.inverted()).x1 == pytest.approx(1)
    assert axes.get_xscale() == "log" and axes.get_ylabel() == "BLEU of test"
    assert [label.get_text() for label in axes.get_xticklabels()] == ["0.38\n(1)", "0.75\n(2)", "3\n(12)"]


def test_what_the_picture_leaves_out_is_said_below_its_name(
    work: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    other = work / "rope-seed2" / "score-test-w2.json"
    other.write_text(other.read_text().replace("tok:13a", "tok:intl"))
    (work / "rope-seed2" / "score-test-w12.json").unlink()
    (add_run(work, "begun") / "train.log").write_text("")
    axes = drawn(work, monkeypatch)
    lines = {bars.get_label(): bars.lines[0].get_xydata().tolist() for bars in axes.containers}
    assert lines == {"alibi": [[0.375, 39.0], [3.0, 10.0]], "rope (2 seeds)": [[0.375, 41.0], [3.0, 5.0]]}
    assert capsys.readouterr().out.splitlines()[1:] == [
        "note on begun: left out, no validation is in its log",
        "note on none: left out, it has no such score",
        "note on rope (2 seeds), 2 sentences: left out, scored in 2 ways",
        "note on rope (2 seeds), 12 sentences: the mean is of 1 of 2",
    ]


def test_no_two_models_are_drawn_alike(work: Path, monkeypatch: pytest.MonkeyPatch):
    for i in range(10):
        add_run(work, f"model{i}")
        (work / f"model{i}" / "score-test.json").write_text((work / "rope" / "score-test.json").read_text())
    axes = drawn(work, monkeypatch)
    styles = [(bars.lines[0].get_color(), bars.lines[0].get_linestyle()) for bars in axes.containers]
    assert len(styles) == 12 and len(set(styles)) == 12


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda text: (text / "train.en").unlink(), r"train\.en"),
        (lambda text: (text / "train.en").write_text(""), r"train\.en is empty"),
        (lambda text: (text / "test-w2.en").write_text(""), r"test-w2\.en is empty"),
        (lambda text: (text / "test-w2.en").unlink(), r"test-w2\.en"),
    ],
)
def test_text_that_is_not_there_is_named(work: Path, change, message: str):
    change(work / "text")
    with pytest.raises(UserError, match=message):
        length_curves(work, find_models(work), "test", "en")


def test_a_test_set_that_no_model_has_scores_of_is_named_and_no_empty_picture_drawn(
    work: Path, monkeypatch: pytest.MonkeyPatch
):
    message = f"--windows test: {work} has no BLEU of that test set in score-test.json or score-test-wSIZE.json"
    with pytest.raises(UserError) as error:
        drawn(work, monkeypatch, "--models", "none")
    assert str(error.value) == message and not (work / "lengths.png").exists()


@pytest.mark.parametrize("option", ["--windows", "--source-lang"])
def test_a_test_set_and_its_language_go_together(work: Path, option: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "argv", ["plot", str(work), "--output", "x.png", option, "en"])
    with pytest.raises(UserError, match=r"^--windows and --source-lang go together$"):
        plot.main()


@pytest.mark.parametrize(
    ("name", "message"),
    [("averaged.pt", r"--output must end in \.png or \.svg"), ("nowhere/x.png", "there is no folder nowhere")],
)
def test_a_picture_is_written_over_nothing_else(work: Path, name: str, message: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(work)
    Path("averaged.pt").write_text("weights")
    monkeypatch.setattr(sys, "argv", ["plot", str(work), "--output", name])
    with pytest.raises(UserError, match=message):
        plot.main()
    assert Path("averaged.pt").read_text() == "weights"
