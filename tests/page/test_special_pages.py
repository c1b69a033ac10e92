"""Pages of experiments with a figure or table of their own: windows of several sentences, and conversions."""

import json
from pathlib import Path

import pytest

from fairseq_rope.page.contents import page_contents
from fairseq_rope.page.render import render
from tests.experiments.test_conversion import ALONE, add_scores
from tests.support.corpora import write
from tests.support.experiments import experiment


def windows(work: Path) -> Path:
    """An experiment whose test set is translated in windows too."""
    experiment(work, {"rope": 0.1, "alibi": 0.3})
    write(work / "text" / "train.en", ["a b c d e f g"])
    write(work / "text" / "test-w2.en", ["a <sep> b"] * 3)
    for folder in (path.parent for path in work.glob("*/train.log")):
        score = {"name": "BLEU", "value": 12.5 + ("2" in folder.name), "text": "", "signature": "s"}
        (folder / "score-test-w2.json").write_text(json.dumps({"scores": [score]}))
        with (folder / "settings").open("a") as file:
            file.write('SOURCE_LANG="en"\n')
    return work


def test_windows_of_several_sentences_have_a_figure_by_their_length(tmp_path: Path):
    work = windows(tmp_path / "work")
    contents = page_contents([work], ["rope", "alibi"])
    (figure,) = [each for each in contents["lengths"] if "windows" in each.title]
    assert figure.table.head[1:] == ["rope (2 seeds)", "alibi (2 seeds)"]
    assert [cell.text for cell in figure.table.rows[1]] == ["2 (0.50)", "13.00 ± 0.71", "13.00 ± 0.71"]
    assert "BLEU of windows of several sentences, test" in render(contents)


@pytest.mark.parametrize("gone", ["text", "text/train.en", "text/test-w2.en"])
def test_without_the_text_in_bpe_only_the_figure_of_windows_is_missing_and_the_page_says_so(tmp_path: Path, gone: str):
    work = windows(tmp_path / "work")
    (work / gone).rename(tmp_path / "gone")
    contents = page_contents([work], ["rope", "alibi"])
    assert [figure.title for figure in contents["lengths"]] == ["BLEU by length, test"]
    assert contents["curves"] is not None and not contents["no_figures"]
    (remark,) = [text for text in contents["missing"] if "windows" in text]
    file = gone if gone != "text" else "text/train.en"
    assert remark == f"test: no BLEU by the length of windows: cannot read {file}: No such file or directory"
    no_intervals = "test: no intervals of BLEU by the length of the source, which need text/test.LANG"
    assert (no_intervals in contents["missing"]) == (gone == "text")


def test_a_conversion_has_its_table_by_updates_after_the_switch(tmp_path: Path):
    work = experiment(tmp_path / "work", {"converted": 0.1, "continued": 0.3}, seeds=1)
    for name, loss in (("original", 2.125), ("converted-0", 9)):
        add_scores(work / name, 30.0)
        (work / name / "validate.log").write_text(ALONE.format(loss))
    contents = page_contents([work])
    assert contents["conversion"].head[:2] == ["updates after the switch", "0"]
    first = {row[0].text: row[1].text for row in contents["conversion"].rows}
    assert first["valid loss, converted"] == "9.000" and first["valid loss, continued"] == "2.125"
    assert "By updates after the switch" in render(contents)
    assert page_contents([experiment(tmp_path / "other", {"rope": 0.1}, seeds=1)])["conversion"] is None


def test_figures_without_a_point_are_not_drawn(tmp_path: Path, recwarn: pytest.WarningsRecorder):
    (tmp_path / "majority").mkdir()
    (tmp_path / "majority" / "baseline.txt").touch()
    blocks = {"length": 16, "trained_length": 16, "blocks": {"tokens": [], "bits": [], "correct": []}}
    (tmp_path / "majority" / "score-valid-16.json").write_text(json.dumps({"scores": [], **blocks}))
    contents = page_contents([tmp_path])
    assert contents["curves"] is None and contents["lengths"] == [] and not recwarn.list
    assert "<p>No model was trained: there are no learning curves.</p>" in render(contents)
