"""The learning curves of an experiment as a picture."""

from pathlib import Path
from typing import Any

import pytest

from fairseq_rope.experiments import curves
from fairseq_rope.experiments.work_folder import UNTRAINED
from fairseq_rope.tools import plot
from fairseq_rope_data.errors import UserError
from tests.support.runs import add_run, run_tool
from tests.support.train_logs import BLEU_LOG, LOG


@pytest.fixture
def work(tmp_path: Path) -> Path:
    add_run(tmp_path, "sinusoidal")
    add_run(tmp_path, "rope")
    return tmp_path


@pytest.mark.parametrize(
    ("options", "names"),
    [
        ([], ["rope (2 seeds)", "sinusoidal"]),
        (["--models", "sinusoidal", "rope"], ["sinusoidal", "rope (2 seeds)"]),
    ],
    ids=["all", "chosen"],
)
def test_the_picture_is_a_png_with_the_models_in_their_order(
    work: Path, options: list[str], names: list[str], monkeypatch: pytest.MonkeyPatch
):
    add_run(work, "rope-seed2")
    drawn: list[str] = []
    draw = plot.draw_curves
    monkeypatch.setattr(plot, "draw_curves", lambda logs, output: (drawn.extend(logs), draw(logs, output)))
    run_tool(plot, monkeypatch, work, "--output", work / "curves.png", *options)
    assert (work / "curves.png").read_bytes().startswith(b"\x89PNG") and drawn == names


@pytest.fixture
def figures(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The figures of learning curves that are written."""
    written: list[Any] = []
    write_figure = curves.write_figure
    monkeypatch.setattr(curves, "write_figure", lambda figure, to: (written.append(figure), write_figure(figure, to)))
    return written


def test_the_picture_has_a_line_for_each_run_and_a_color_and_a_name_for_each_model(
    work: Path, figures: list[Any], monkeypatch: pytest.MonkeyPatch
):
    add_run(work, "rope-seed2", loss="8.15")
    run_tool(plot, monkeypatch, work, "--output", work / "curves.png")
    (axes,) = figures[0].axes
    first, second, other = axes.get_lines()
    assert [line.get_ydata()[-1] for line in (first, second, other)] == [8.25, 8.15, 8.25]
    assert first.get_color() == second.get_color() != other.get_color()
    assert first.get_linewidth() == second.get_linewidth() < other.get_linewidth()
    names = [text.get_text() for text in axes.get_legend().get_texts()]
    assert names == ["rope (2 seeds), best 8.200 ± 0.071", "sinusoidal, best 8.250"]


def test_a_run_that_is_behind_is_drawn_and_in_no_mean(work: Path, figures: list[Any], monkeypatch: pytest.MonkeyPatch):
    begun = "".join(LOG.splitlines(keepends=True)[:3])
    (add_run(work, "rope-seed2") / "train.log").write_text(begun)
    run_tool(plot, monkeypatch, work, "--output", work / "curves.png")
    (axes,) = figures[0].axes
    assert [list(line.get_ydata()) for line in axes.get_lines()] == [[9.5, 8.25], [9.5], [9.5, 8.25]]
    names = [text.get_text() for text in axes.get_legend().get_texts()]
    assert names == ["rope (2 seeds), best 8.250 (1 of 2)", "sinusoidal, best 8.250"]


def test_a_model_whose_name_begins_with_an_underscore_is_in_the_legend(
    tmp_path: Path, figures: list[Any], monkeypatch: pytest.MonkeyPatch
):
    add_run(tmp_path, "_mine")
    run_tool(plot, monkeypatch, tmp_path, "--output", tmp_path / "curves.png")
    (name,) = [text.get_text() for text in figures[0].axes[0].get_legend().get_texts()]
    assert name.endswith("_mine, best 8.250")


@pytest.mark.parametrize("name", ["$\\frac$", "$x$"], ids=["no formula", "a formula"])
def test_a_name_is_no_formula(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch):
    add_run(tmp_path, name)
    run_tool(plot, monkeypatch, tmp_path, "--output", tmp_path / "curves.svg")
    assert f"{name}, best 8.250" in (tmp_path / "curves.svg").read_text()


def test_the_picture_has_bleu_beside_the_loss_where_a_training_logged_it(
    work: Path, figures: list[Any], monkeypatch: pytest.MonkeyPatch
):
    run_tool(plot, monkeypatch, work, "--output", work / "curves.png")
    (work / "rope" / "train.log").write_text(BLEU_LOG)
    run_tool(plot, monkeypatch, work, "--output", work / "curves.png")
    without, with_bleu = figures
    assert len(without.axes) == 1
    losses, bleu = with_bleu.axes
    assert bleu.get_ylabel() == "BLEU of the validation set (greedy)"
    rope, sinusoidal = bleu.get_lines()
    assert (*rope.get_xdata(), *rope.get_ydata()) == (124, 248, 0.31, 12.5) and not len(sinusoidal.get_xdata())
    assert [text.get_text() for text in bleu.get_legend().get_texts()] == ["rope, best 12.50"]
    assert rope.get_color() == losses.get_lines()[0].get_color()


def test_a_model_that_was_not_trained_has_no_line(work: Path, figures: list[Any], monkeypatch: pytest.MonkeyPatch):
    (work / "rope" / "train.log").rename(work / "rope" / UNTRAINED)
    run_tool(plot, monkeypatch, work, "--output", work / "curves.png")
    (axes,) = figures[0].axes
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["sinusoidal, best 8.250"]
    assert len(axes.get_lines()) == 1


def test_a_run_before_its_first_validation_is_named_and_the_others_are_drawn(
    work: Path, figures: list[Any], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    (add_run(work, "alibi") / "train.log").write_text("num. shared model params: 1\n")
    run_tool(plot, monkeypatch, work, "--output", work / "curves.png")
    assert len(figures[0].axes[0].get_lines()) == 2
    left_out = "note on alibi: left out, no validation is in its log"
    assert capsys.readouterr().out == f"wrote {work / 'curves.png'}\n{left_out}\n"


@pytest.mark.parametrize("name", ["train.log", UNTRAINED])
def test_without_a_validated_training_there_is_no_picture(work: Path, name: str, monkeypatch: pytest.MonkeyPatch):
    for run in ("rope", "sinusoidal"):
        (work / run / "train.log").unlink()
        (work / run / name).write_text("")
    with pytest.raises(UserError) as error:
        run_tool(plot, monkeypatch, work, "--output", work / "curves.png")
    messages = {"train.log": f"{work}/rope/train.log: no validation is in this log"}
    assert str(error.value) == messages.get(name, f"{work} has no learning curve: no model in it was trained")
    assert not (work / "curves.png").exists()
