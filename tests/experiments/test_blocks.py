"""Masked language models in a work folder: tables, bootstraps of blocks, curves over lengths, and what is better."""

import json
import statistics
import sys
from pathlib import Path

import pytest

from fairseq_rope.experiments.block_bootstraps import block_bootstraps
from fairseq_rope.experiments.block_curves import block_curves, block_sets
from fairseq_rope.experiments.data import results_data
from fairseq_rope.experiments.length_curves import Point
from fairseq_rope.experiments.results import results_text
from fairseq_rope.experiments.work_folder import find_models, reports
from fairseq_rope.page.contents import page_contents
from fairseq_rope.page.figures import blocks_figure
from fairseq_rope.page.render import render
from fairseq_rope.tools import plot
from fairseq_rope_data.errors import UserError
from tests.support.masked_runs import masked_runs

BITS = {"roformer": {16: 0.0, 32: 0.25, 128: 0.5}, "bert": {16: 0.125, 32: None, 128: None}}


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return masked_runs(tmp_path_factory.mktemp("masked") / "mlm", BITS)


def test_texts_stand_by_the_length_of_blocks_and_not_by_their_digits(work: Path):
    assert list(reports(work / "roformer")) == ["valid-16", "valid-32", "valid-128"]


def test_a_difference_that_all_blocks_have_is_sure_and_pooled_over_seeds(work: Path):
    baseline, model = find_models(work, ["roformer", "bert"])
    ((name, seeds, (bits, accuracy)),) = block_bootstraps(baseline, model)
    assert (name, seeds) == ("valid-16", [1, 2])
    (difference,) = bits.differences
    # all blocks have as many masked tokens, so that the mean difference is that of each resampled text
    assert [difference.mean, difference.low, difference.high] == pytest.approx([0.125] * 3)
    (same,) = accuracy.differences
    assert (same.mean, same.low, same.high, same.p_value) == (0, 0, 0, 1)
    sums = json.loads((work / "roformer" / "score-valid-16.json").read_text())["blocks"]
    assert bits.scores["roformer"][0] == pytest.approx(sum(sums["bits"]) / sum(sums["tokens"]))
    assert bits.signature == "masks|seed:12345|bs:1000"


@pytest.mark.parametrize(
    ("old", "new"), [('"signature": "masks"', '"signature": "others"'), ('"tokens": [5,', '"tokens": [4,')]
)
def test_blocks_of_other_masks_are_not_compared(tmp_path: Path, old: str, new: str):
    work = masked_runs(tmp_path / "work", BITS, seeds=1)
    path = work / "bert" / "score-valid-16.json"
    path.write_text(path.read_text().replace(old, new))
    assert [*block_bootstraps(*find_models(work, ["roformer", "bert"]))] == []


def test_the_text_has_bits_with_three_digits_and_what_could_not_be_read(work: Path):
    text = results_text(work, ["roformer", "bert"])
    rows = {line.split("|")[1].strip(): line for line in text.splitlines() if line.startswith("| ")}
    assert rows["valid-128: bits"].rstrip(" |").count("|") == 2, "no cell for bert"
    assert "bits: masks" in text
    assert "note on valid-128 of bert-seed2: --allow beyond-table: not read, for its table ends" in text
    assert "Paired bootstrap on valid-16, pooled over the seeds 1, 2" in text
    assert "| bert | +0.125 [+0.125, +0.125], p = " in text
    assert "roformer to reach bert" in text
    one = results_text(masked_runs(work.parent / "one", BITS, seeds=1), ["roformer", "bert"])
    assert "Paired bootstrap on valid-16, seed 1, the baseline first" in one


def test_curves_over_lengths_are_means_over_seeds_by_the_length_of_training(work: Path):
    models = find_models(work, ["roformer", "bert"])
    assert block_sets(models) == ["valid"]
    curves = block_curves(models, "valid")
    means = {each["length"]: each for each in (reports(work / "roformer")[f"valid-{n}"] for n in (16, 32, 128))}
    first = {length: report["scores"][0]["value"] for length, report in means.items()}
    assert curves["roformer (2 seeds)"] == [
        Point(length, length / 16, pytest.approx(bits + 0.005), pytest.approx(statistics.stdev([0, 0.01])))
        for length, bits in first.items()
    ]
    assert [point.size for point in curves["bert (2 seeds)"]] == [16]


def test_the_picture_over_lengths_is_drawn_where_there_are_blocks(
    work: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    command = ["plot", str(work), "--output", str(tmp_path / "lengths.png"), "--lengths"]
    monkeypatch.setattr(sys, "argv", [*command, "valid"])
    plot.main()
    assert (tmp_path / "lengths.png").read_bytes().startswith(b"\x89PNG")
    for words, message in (
        (["test"], "--lengths test: .* has no score-test-LENGTH.json of blocks"),
        (["valid", "--windows", "valid", "--source-lang", "en"], "--lengths and --windows exclude each other"),
    ):
        monkeypatch.setattr(sys, "argv", [*command, *words])
        with pytest.raises(UserError, match=message):
            plot.main()


def test_the_page_says_which_model_is_better_where_lower_is(work: Path):
    contents = page_contents([work], ["roformer", "bert"])
    assert contents["verdicts"] == [
        "bert is 0.125 bits on valid-16 above roformer: roformer is better "
        "(95% t interval +0.125 to +0.125 over 2 seeds, paired)."
    ]
    turned = page_contents([work], ["bert", "roformer"])
    assert turned["verdicts"][0].startswith("roformer is 0.125 bits on valid-16 below bert: roformer is better (95%")
    (figure,) = contents["lengths"]
    assert [cell.text for cell in figure.table.rows[2]] == ["128 (8.00)", "7.582 ± 0.007", ""]
    page = render(contents)
    assert "Bits a masked token by the length of blocks, valid" in page and "BLEU" not in page
    assert "bert: no valid-32: bits, accuracy of seed 1, 2" in page and "+0.125" in page


def test_models_of_other_lengths_of_training_are_rows_of_their_own_in_the_numbers_of_a_figure():
    short, long = Point(64, 1.0, 5.0, None), Point(64, 0.5, 6.0, None)
    figure = blocks_figure({"short": [short], "long": [long]}, "valid")
    cells = [[cell.text for cell in row] for row in figure.table.rows]
    assert cells == [["64 (0.50)", "", "6.000"], ["64 (1.00)", "5.000", ""]]


def test_a_model_alone_has_its_bits(tmp_path: Path):
    work = masked_runs(tmp_path / "work", {"roformer": {16: 0.0}})
    (sentence,) = page_contents([work])["verdicts"]
    assert sentence.endswith("mean of 2 trainings with a standard deviation of 0.007.")
    assert results_data(find_models(work))["models"]["roformer"]["statistics"]["valid-16: bits"]["lower_is_better"]


def test_a_model_that_is_read_in_another_way_reaches_no_loss_of_its_own(tmp_path: Path):
    work = masked_runs(tmp_path / "work", {"roformer": {16: 0.0}, "roformer_ntk": {16: 0.5}}, seeds=1)
    (work / "roformer_ntk" / "train.log").unlink()
    (work / "roformer_ntk" / "train.log").symlink_to("../roformer/train.log")
    found = results_data(find_models(work))
    assert found["reach"] == [] and len(found["bootstraps"]) == 2


def test_reports_without_a_block_are_not_resampled(tmp_path: Path):
    work = masked_runs(tmp_path / "work", {"roformer": {16: 0.0}, "bert": {16: 0.5}})
    for path in work.glob("*/score-valid-16.json"):
        report = json.loads(path.read_text())
        report["blocks"] = {"tokens": [], "bits": [], "correct": []}
        path.write_text(json.dumps(report))
    assert "Paired bootstrap" not in results_text(work)
