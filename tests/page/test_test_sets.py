"""Test sets whose names or sizes are nearly the same are told apart on the page."""

import json
from pathlib import Path

import pytest

from fairseq_rope.experiments.data import results_data
from fairseq_rope.experiments.work_folder import find_models
from fairseq_rope.page.comparisons import comparisons
from fairseq_rope.page.figures import length_figure
from tests.support.corpora import write
from tests.support.runs import add_run

TEXT = {
    "test.de": ["ein Haus", "ein Hund"],
    "test.en": ["a house", "a dog"],
    "test.2016.de": ["x", "y"],
    "test.2016.en": ["z", "w"],
}


def test_the_source_is_not_that_of_a_test_set_whose_name_begins_alike(tmp_path: Path):
    (tmp_path / "raw").mkdir()
    for name, lines in TEXT.items():
        write(tmp_path / "raw" / name, lines)
    for model, lines in (("rope", ["ein Haus", "Hund"]), ("sinusoidal", ["Haus", "ein Hund"])):
        write(add_run(tmp_path, model) / "hyp-test.de", lines)
    (found,) = comparisons(find_models(tmp_path))
    assert (found.source_lang, found.target_lang) == ("en", "de")
    assert [each.source for each in (*found.better, *found.worse)] == ["a dog", "a house"]


def test_buckets_of_other_numbers_of_sentences_are_rows_of_their_own(tmp_path: Path):
    for model, sentences, value in (("rope", 30, 41.0), ("sinusoidal", 26, 11.0)):
        score = {"name": "BLEU", "value": value, "text": "", "signature": "s"}
        report = {"scores": [score], "buckets": [{"words": "1-10", "sentences": sentences, "score": score}]}
        (add_run(tmp_path, model) / "score-test.json").write_text(json.dumps(report))
    figure = length_figure(results_data(find_models(tmp_path))["models"], "test")
    assert figure is not None
    assert [[cell.text for cell in row] for row in figure.table.rows] == [
        ["1-10 words, 30 sentences", "41.00", ""],
        ["1-10 words, 26 sentences", "", "11.00"],
    ]


@pytest.mark.parametrize("high", [99.99999, 100.0])
def test_an_interval_that_rounding_has_moved_off_its_mean_is_drawn(high: float):
    bucket = {"words": "1-10", "sentences": 30, "mean": 100.00000000000004, "ways": 1, "low": 97.0, "high": high}
    figure = length_figure({"rope": {"buckets": {"test": [bucket]}}}, "test")
    assert figure is not None and figure.table.rows[0][1].text == "100.00 [97.00, 100.00]"
