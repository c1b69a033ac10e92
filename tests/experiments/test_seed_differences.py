"""Differences over seeds: the t distribution, intervals, and which seeds make a pair."""

import json
import math
import random
import statistics
import sys
from pathlib import Path

import pytest

from fairseq_rope.experiments.data import results_json
from fairseq_rope.experiments.results import results_text
from fairseq_rope.experiments.seed_differences import seed_differences, t_interval
from fairseq_rope.experiments.student_t import central_probability, central_quantile
from fairseq_rope.experiments.work_folder import find_models
from fairseq_rope.tools import results
from fairseq_rope_data.errors import UserError
from tests.support.runs import add_run, cells

TITLE = "Difference from rope over seeds, paired by seed: mean [95% t interval], of the noise of training; × is a ratio"
SPEED = "| wpb {} | bsz 9 | num_updates 248 | lr 1 | train_wall"


@pytest.mark.parametrize("freedom", [1, 2, 3, 4, 9, 10, 57])
def test_the_t_distribution_is_the_integral_of_its_density(freedom: int):
    scale = math.gamma((freedom + 1) / 2) / math.gamma(freedom / 2) / math.sqrt(freedom * math.pi)
    steps, t = 20_000, 2.5
    middles = (t * (i + 0.5) / steps for i in range(steps))
    area = 2 * t / steps * math.fsum(scale * (1 + x * x / freedom) ** (-(freedom + 1) / 2) for x in middles)
    assert central_probability(t, freedom) == pytest.approx(area, abs=1e-8)
    assert central_probability(central_quantile(0.95, freedom), freedom) == pytest.approx(0.95, abs=1e-12)


@pytest.mark.parametrize(
    ("freedom", "published"), [(1, 12.706), (2, 4.303), (3, 3.182), (4, 2.776), (9, 2.262), (30, 2.042), (120, 1.980)]
)
def test_quantiles_are_those_of_published_tables(freedom: int, published: float):
    assert round(central_quantile(0.95, freedom), 3) == published


def test_the_interval_is_scipys():
    stats = pytest.importorskip("scipy.stats", reason="scipy is not installed")
    draw = random.Random(1)
    for seeds in (2, 3, 5, 10):
        first, second = ([draw.gauss(40, 1) for _ in range(seeds)] for _ in range(2))
        expected = stats.ttest_rel(first, second).confidence_interval(0.95)
        mean, low, high = t_interval([a - b for a, b in zip(first, second, strict=True)])
        assert (low, high) == pytest.approx((expected.low, expected.high), rel=1e-9)
        assert mean == pytest.approx(statistics.fmean(first) - statistics.fmean(second))


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """Three seeds of rope, of which alibi has two and another one of its own; and words/s of each."""
    for name, bleu4, words in (
        ("rope", 40.0, 1000),
        ("rope-seed2", 41.0, 1200),
        ("rope-seed3", 45.0, 900),
        ("alibi", 41.0, 500),
        ("alibi-seed2", 40.5, 1200),
        ("alibi-seed4", 99.0, 1000),
    ):
        log = add_run(tmp_path, name, bleu4=bleu4) / "train.log"
        text = log.read_text().replace("| num_updates 248 | train_wall", SPEED.format(words))
        log.write_text(text.replace("| num_updates 124 | train_wall", SPEED.format(words).replace("248", "124")))
    return tmp_path


def test_models_are_compared_in_the_seeds_that_both_have(work: Path):
    differences = {each.statistic: each for each in seed_differences(find_models(work, ["rope", "alibi"]))}
    assert list(differences) == ["valid loss, best", "training, words/s", "test: BLEU4"]
    bleu = differences["test: BLEU4"]
    assert (bleu.baseline, bleu.model, bleu.kind, bleu.seeds) == ("rope", "alibi", "difference", [1, 2])
    # +1.0 and -0.5: mean 0.25, standard error 0.75, and 12.706 of them
    assert (bleu.mean, bleu.low, bleu.high) == pytest.approx((0.25, 0.25 - 9.5297, 0.25 + 9.5297), abs=1e-4)
    speed = differences["training, words/s"]
    # half as fast and as fast: the geometric mean
    assert (speed.kind, speed.mean) == ("ratio", pytest.approx(math.sqrt(0.5)))
    assert (bleu.values, speed.values) == (pytest.approx({1: 1.0, 2: -0.5}), pytest.approx({1: 0.5, 2: 1.0}))
    assert speed.low * speed.high == pytest.approx(speed.mean**2)


def test_the_table_says_the_noise_of_what_it_is_and_of_how_many_seeds(work: Path):
    (work / "alibi-seed2" / "score-test.json").unlink()
    add_run(work, "alibi-seed3", bleu4=44.0)
    for name in ("rope", "alibi"):
        assert sum("words/s" in line for line in results_text(work, [name]).splitlines()) == 1
    _, part = results_text(work, ["rope", "alibi"]).split(f"\n\n{TITLE}\n\n")
    rows = {cells(line)[0]: cells(line)[1] for line in part.split("\n\n")[0].splitlines()}
    assert rows[""] == "alibi (3 seeds)"
    assert rows["valid loss, best"] == "+0.000 [+0.000, +0.000]"
    assert rows["test: BLEU4"].startswith("+0.00 [-12.71, +12.71] (2 of 3)")
    assert rows["training, words/s"].startswith("× 0.71 [0.01, ")
    assert "parameters" not in rows


def test_a_single_seed_has_no_interval(tmp_path: Path):
    for name in ("rope", "alibi", "alibi-seed2"):
        add_run(tmp_path, name, bleu4=40.0)
    assert "Difference" not in results_text(tmp_path, ["rope", "alibi"])
    assert json.loads(results_json(tmp_path))["seed_differences"] == []


def test_a_training_whose_loss_is_no_number_is_no_pair(tmp_path: Path):
    for name in ("rope", "alibi", "rope-seed2", "alibi-seed2", "rope-seed3"):
        add_run(tmp_path, name)
    (add_run(tmp_path, "alibi-seed3") / "train.log").write_text(
        "epoch 001 | valid on 'valid' subset | loss nan | nll_loss nan | num_updates 124\n"
    )
    (loss,) = seed_differences(find_models(tmp_path, ["rope", "alibi"]))
    assert loss.seeds == [1, 2] and math.isfinite(loss.mean)


@pytest.mark.parametrize(
    ("signature", "other", "pairs"),
    [
        ("tok:as-is|version:2.6.0", "tok:as-is|version:2.5.1", 1),
        ("tok:as-is|version:2.6.0|sacremoses:0.2.0", "tok:as-is|version:2.6.0|sacremoses:0.1.1", 1),
        ("classes:2|scikit-learn:1.9.1", "classes:2|scikit-learn:1.8.0", 1),
        ("numbers|scipy:1.17.1", "numbers|scipy:1.16.0", 1),
        ("tok:as-is", "tok:as-is|case:lc", 0),
        ("masked:0.15|mask-seed:1", "masked:0.3|mask-seed:1", 0),
    ],
)
def test_scores_made_in_different_ways_are_no_pairs(tmp_path: Path, signature: str, other: str, pairs: int):
    for seed in (1, 2):
        for model, its in (("rope", signature), ("alibi", other)):
            file = add_run(tmp_path, f"{model}-seed{seed}", bleu4=41.0 + seed) / "score-test.json"
            file.write_text(file.read_text().replace("tok:as-is", its))
    found = seed_differences(find_models(tmp_path, ["rope", "alibi"]))
    assert [each.statistic for each in found].count("test: BLEU4") == pairs


def test_fine_tunings_of_one_pretrained_model_are_one_value_of_the_interval(tmp_path: Path):
    for seed, (rope, alibi) in enumerate(((40.0, 41.0), (41.0, 40.5), (45.0, 44.0), (40.0, 44.0)), 1):
        for name, bleu4 in (("rope", rope), ("alibi", alibi)):
            folder = add_run(tmp_path, f"{name}-seed{seed}", bleu4=bleu4)
            (folder / "pretrained").write_text(f"{name} {1 + (seed - 1) % 3}\n")  # the fourth begins as the first does
    models = find_models(tmp_path, ["rope", "alibi"])
    bleu = {each.statistic: each for each in seed_differences(models)}["test: BLEU4"]
    assert (bleu.seeds, bleu.independent) == ([1, 2, 3, 4], 3)
    # (+1 and +4), -0.5 and -1
    assert (bleu.mean, bleu.low, bleu.high) == pytest.approx(t_interval([2.5, -0.5, -1.0]))
    assert results_text(tmp_path, ["rope", "alibi"]).count(", 3 pre-trainings ") == 2


@pytest.mark.parametrize(
    ("rope", "alibi", "independent"),
    [("12345", "11122", 2), ("12312", "12345", 3), ("12121", "12312", None), ("12345", "11111", None)],
)
def test_pairs_that_share_a_pretrained_model_of_either_side_are_one_value(
    tmp_path: Path, rope: str, alibi: str, independent: int | None
):
    for name, begun in (("rope", rope), ("alibi", alibi)):
        for seed, pretrained in enumerate(begun, 1):
            (add_run(tmp_path, f"{name}-seed{seed}", bleu4=40.0 + seed) / "pretrained").write_text(pretrained)
    found = [x for x in seed_differences(find_models(tmp_path, ["rope", "alibi"])) if x.statistic == "test: BLEU4"]
    assert [x.independent for x in found] == ([] if independent is None else [independent])


def test_machines_get_the_differences_too(work: Path):
    report = json.loads(results_json(work, ["rope", "alibi"]))
    (bleu,) = [each for each in report["seed_differences"] if each["statistic"] == "test: BLEU4"]
    assert bleu["seeds"] == [1, 2] and bleu["low"] < bleu["mean"] == 0.25 < bleu["high"]


def chosen(work: Path, monkeypatch: pytest.MonkeyPatch, *options: str) -> None:
    monkeypatch.setattr(sys, "argv", ["results", str(work), "--models", "rope", "alibi", "--statistics", *options])
    results.main()


def test_chosen_statistics_give_a_row_to_each_model(
    work: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    (work / "raw").mkdir()
    for path in (work / "raw" / "test.de", work / "rope" / "hyp-test.de", work / "alibi" / "hyp-test.de"):
        path.write_text("ein Satz\n")
    chosen(work, monkeypatch, "training, words/s", "parameters", "test: BLEU4")
    first, second = capsys.readouterr().out.rstrip("\n").split(f"\n\n{TITLE}\n\n")
    lines = [cells(line) for line in first.splitlines() if line.startswith("|") and "---" not in line]
    assert lines == [
        ["", "training, words/s", "parameters", "test: BLEU4"],
        ["rope (3 seeds)", "2,136 ± 316", "2,568,192", f"42.00 ± {statistics.stdev([40, 41, 45]):.2f}"],
        ["alibi (3 seeds)", "1,860 ± 745", "2,568,192", f"60.17 ± {statistics.stdev([41, 40.5, 99]):.2f}"],
    ]
    assert first.splitlines()[-1] == "BLEU4: tok:as-is"
    rows, note = second.split("\n\n")
    assert note == "note: rope has seeds 1, 2, 3, alibi has seeds 1, 2, 4: compared by seeds 1, 2"
    head, _, row = rows.splitlines()
    assert cells(head) == ["", "training, words/s", "test: BLEU4"] and cells(row)[0] == "alibi (2 seeds)"


def test_chosen_scores_have_their_signatures_and_no_others(
    work: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    chosen(work, monkeypatch, "parameters")
    text = capsys.readouterr().out
    assert "tok:" not in text and TITLE not in text  # nor a table of no differences
    chosen(work, monkeypatch, "test: BLEU4", "parameters")
    assert "BLEU4: tok:as-is" in capsys.readouterr().out


def test_a_statistic_that_no_model_has_is_named(work: Path, monkeypatch: pytest.MonkeyPatch):
    message = "--statistics valid: BLEU: no model in .* has it, only parameters, epochs, updates, .*, test: BLEU4$"
    with pytest.raises(UserError, match=message):
        chosen(work, monkeypatch, "test: BLEU4", "valid: BLEU")
