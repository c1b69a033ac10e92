"""The results of an experiment as tables and JSON."""

import json
import math
import re
import statistics
from pathlib import Path
from types import ModuleType

import pytest

from fairseq_rope.experiments.bootstraps import comparison_table
from fairseq_rope.experiments.data import results_json
from fairseq_rope.experiments.reach import TITLE
from fairseq_rope.experiments.results import results_text, statistics_table
from fairseq_rope.experiments.statistic import Statistic, cell
from fairseq_rope.experiments.work_folder import find_models, run_statistics
from fairseq_rope.scoring.comparison import compare_seeds
from fairseq_rope.scoring.evaluation import ScoreSettings
from fairseq_rope.tools import plot, results
from fairseq_rope_data.errors import UserError
from tests.support.corpora import sentences, system, write
from tests.support.runs import add_run, cells, run_tool
from tests.support.train_logs import BLEU_LOG, LOG

NAMES = ("rope", "sinusoidal")


@pytest.fixture
def work(tmp_path: Path) -> Path:
    add_run(tmp_path, "sinusoidal")
    add_run(tmp_path, "rope", bleu4=41.234)
    return tmp_path


def test_the_table_has_a_column_a_model_in_the_order_of_their_names(work: Path):
    lines = statistics_table(find_models(work), run_statistics).splitlines()
    assert [cells(line) for line in lines if "---" not in line] == [
        ["", "rope", "sinusoidal"],
        ["parameters", "2,568,192", "2,568,192"],
        ["epochs, updates", "2, 248", "2, 248"],
        ["training, minutes", "2.5", "2.5"],
        ["valid loss, best", "8.250 (epoch 2)", "8.250 (epoch 2)"],
        ["test: BLEU4", "41.23", ""],
    ]
    assert len({len(line) for line in lines}) == 1


def test_of_one_seed_without_source_or_hypotheses_there_are_the_table_the_signatures_and_what_is_needed(work: Path):
    table, seeds, reach, rows = results_text(work).split("\n\n")
    assert table == f"{statistics_table(find_models(work), run_statistics)}\nBLEU4: tok:as-is"
    assert seeds == "One seed: nothing can be concluded about the noise of training." and reach == TITLE
    assert len(rows.splitlines()) == 4


def test_seeds_of_a_model_share_a_column_with_mean_and_deviation(work: Path):
    scores = [41.234, 40.5, 42.0]
    add_run(work, "rope-seed3", bleu4=scores[2], loss="8.75")
    add_run(work, "rope-seed2", bleu4=scores[1])
    add_run(work, "sinusoidal-seed2", bleu4=39.0)
    add_run(work, "learned")
    rows = {
        cells(line)[0]: cells(line)[1:] for line in statistics_table(find_models(work), run_statistics).splitlines()
    }
    assert rows[""] == ["learned", "rope (3 seeds)", "sinusoidal (2 seeds)"]
    assert rows["parameters"] == ["2,568,192"] * 3
    assert rows["test: BLEU4"] == ["", f"41.24 ± {statistics.stdev(scores):.2f}", "39.00 (1 of 2)"]
    losses = [8.25, 8.25, 8.75]
    spread = f"{statistics.mean(losses):.3f} ± {statistics.stdev(losses):.3f}"
    assert rows["valid loss, best"] == ["8.250 (epoch 2)", f"{spread} (epoch 2)", "8.250 (epoch 2)"]


def test_the_best_bleu_of_validation_is_a_row_that_says_what_it_is_and_a_curve(work: Path):
    assert "BLEU (greedy)" not in results_text(work) and "valid_bleu" not in results_json(work)
    (work / "rope" / "train.log").write_text(BLEU_LOG)
    lines = statistics_table(find_models(work), run_statistics).splitlines()
    assert ["valid BLEU (greedy), best", "12.50 (epoch 2)", ""] in map(cells, lines)
    models = json.loads(results_json(work))["models"]
    assert models["rope"]["curves"]["1"]["valid_bleu"] == [0.31, 12.5]
    assert "valid_bleu" not in models["sinusoidal"]["curves"]["1"]
    statistic = models["rope"]["statistics"]["valid BLEU (greedy), best"]
    assert (statistic["mean"], statistic["compared"], statistic["lower_is_better"]) == (12.5, "difference", False)


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ([(4, 800)], "4, 800"),
        ([(4, 800), (4, 800)], "4, 800"),
        ([(4, 1000), (4, 1200), (4, 1400)], "4, 1,200 ± 200"),
        ([(4, math.nan), (4, math.nan)], "4, nan"),
        ([(4, math.nan), (4, 1000)], "4, nan"),
    ],
    ids=["one run", "equal runs", "runs that differ", "no numbers", "one number"],
)
def test_only_numbers_that_differ_have_a_deviation(values: list[tuple[float, ...]], text: str):
    each = [Statistic(numbers, "{}, {}", (".0f", ",.0f")) for numbers in values]
    assert cell(each, runs=len(each)) == text


def test_buckets_are_a_table_of_their_own(work: Path):
    add_run(work, "rope-seed2", bleu4=41.0, buckets=True)
    add_run(work, "rope-seed3", bleu4=42.0, buckets=True)
    _, table = results_text(work).split("\n\nBLEU by words of the source:\n\n")
    row = cells(table.splitlines()[2])
    assert row == ["test: 11-20 words, 7 sentences", f"41.50 ± {0.5 * 2**0.5:.2f} (2 of 3)", ""]


def test_scores_made_in_different_ways_have_all_their_signatures(work: Path):
    folder = add_run(work, "rope-seed2", bleu4=41.0)
    path = folder / "score-test.json"
    path.write_text(path.read_text().replace("tok:as-is", "tok:other"))
    assert results_text(work).split("\n\n")[0].splitlines()[-2:] == ["BLEU4: tok:as-is", "BLEU4: tok:other"]


def test_what_was_scored_in_spite_of_a_breach_is_told(work: Path):
    order = "scored as they are: 2 of 50 lines, the first hyps:3: out of order"
    notes = ["no detokenized BLEU", "--allow empty: 9 of 50 lines", order]
    (work / "rope" / "score-test.json").write_text(json.dumps({"scores": [], "notes": notes}))
    lines = [f"note on test of rope: {note}" for note in notes[1:]]
    assert results_text(work).split("\n\n")[0].splitlines()[-2:] == lines
    assert json.loads(results_json(work))["notes"] == lines


def add_hypotheses(work: Path) -> list[str]:
    refs = sentences(20, seed=1)
    (work / "raw").mkdir()
    write(work / "raw" / "test.2016.de", refs)
    for seed, name in enumerate(("rope", "sinusoidal", "rope-seed2", "sinusoidal-seed2", "rope-seed3")):
        write(work / name / "hyp-test.2016.de", system(refs, errors=0.3, seed=seed))
    return refs


def test_seeds_that_were_scored_in_different_ways_are_compared_each_by_itself(work: Path):
    for name in ("rope-seed2", "sinusoidal-seed2", "rope-seed3"):
        add_run(work, name)
    assert "Paired" not in results_text(work)
    add_hypotheses(work)
    for name in ("rope", "rope-seed2"):
        report = {"scores": [], "settings": {"lowercase": name == "rope"}}
        (work / name / "score-test.2016.json").write_text(json.dumps(report))
    parts = results_text(work).split("\n\n")
    assert sum(part.startswith("Paired") for part in parts) == 2  # the third seed has one model only
    for seed, folders in enumerate((("rope", "sinusoidal"), ("rope-seed2", "sinusoidal-seed2")), start=1):
        files = {name: [work / folder / "hyp-test.2016.de"] for name, folder in zip(NAMES, folders, strict=True)}
        settings = ScoreSettings("de", detokenized=True, lowercase=seed == 1)
        found = compare_seeds(files, work / "raw" / "test.2016.de", settings)
        expected = comparison_table([each.by_seed[0] for each in found])
        title = f"Paired bootstrap on test.2016, seed {seed}, the baseline first: score (mean ± 95% interval)"
        assert parts[parts.index(title) + 1] == expected
        assert ("case:lc" in expected) == (seed == 1) and "compound-split BLEU: " in expected
    (work / "raw" / "test.2016.de").unlink()
    assert "Paired" not in results_text(work)


def test_what_was_allowed_when_it_was_scored_is_compared(work: Path):
    for name in ("rope-seed2", "sinusoidal-seed2", "rope-seed3"):
        add_run(work, name)
    refs = add_hypotheses(work)
    write(work / "rope" / "hyp-test.2016.de", ["", *refs[1:]])
    assert "pooled over the seeds 1, 2" in results_text(work)


def test_everything_is_there_for_machines_by_seed(
    work: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    for name in ("rope-seed2", "sinusoidal-seed2", "rope-seed3"):
        add_run(work, name, bleu4=40.0, buckets=True)
    add_hypotheses(work)
    add_run(work, "rope-seed10", bleu4=39.0)
    run_tool(results, monkeypatch, work, "--json")
    report = json.loads(capsys.readouterr().out)
    assert report["models"]["rope"]["statistics"]["test: BLEU4"]["values"] == {
        "1": 41.234,
        "2": 40.0,
        "3": 40.0,
        "10": 39.0,
    }
    assert list(report["models"]["rope"]["statistics"]["test: BLEU4"]["values"]) == ["1", "2", "3", "10"]
    scores = report["models"]["rope"]["statistics"]["test: BLEU4"]
    values = [41.234, 40.0, 40.0, 39.0]
    assert (scores["mean"], scores["sd"]) == pytest.approx((statistics.mean(values), statistics.stdev(values)))
    assert (scores["compared"], scores["decimals"]) == ("difference", 2)
    single = report["models"]["sinusoidal"]["statistics"]["test: BLEU4"]
    assert (single["values"], single["mean"], single["sd"]) == ({"2": 40.0}, 40.0, None)
    (bucket,) = report["models"]["rope"]["buckets"]["test"]
    assert (bucket["words"], bucket["sentences"], bucket["values"]) == ("11-20", 7, {"2": 40.0, "3": 40.0})
    assert report["signatures"] == {"BLEU4": ["tok:as-is"]}
    assert [(each["metric"], each["test_set"], each["seeds"]) for each in report["bootstraps"]] == [
        (metric, "test.2016", [1, 2]) for metric in ("BLEU", "chrF2", "compound-split BLEU")
    ]


def test_what_is_no_number_is_null_for_machines(work: Path):
    log = work / "rope" / "train.log"
    log.write_text("\n".join(line for line in LOG.splitlines() if "wall" not in line) + "\n")
    rope = json.loads(results_json(work), parse_constant=pytest.fail)["models"]["rope"]
    assert rope["statistics"]["training, minutes"] == {
        "values": {"1": None},
        "counted": [],
        "mean": None,
        "sd": None,
        "ways": 1,
        "way": "",
        "compared": "not",
        "decimals": 1,
        "lower_is_better": False,
    }
    assert rope["curves"]["1"]["seconds"] == [None, None]


def test_a_seed_that_diverged_is_not_counted_in_a_mean(work: Path):
    log = add_run(work, "rope-seed2", loss="nan") / "train.log"
    log.write_text(re.sub("loss (9.5|8.5)", "loss nan", log.read_text()))
    loss = json.loads(results_json(work))["models"]["rope"]["statistics"]["valid loss, best"]
    assert (loss["values"], loss["counted"], loss["mean"]) == ({"1": 8.25, "2": None}, [1], 8.25)
    table = statistics_table(find_models(work, ["rope"]), run_statistics)
    assert ["valid loss, best", "8.250 (epoch 2) (1 of 2)"] in map(cells, table.splitlines())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda work: (work / "rope" / "score-test.json").write_text("{\n"), "score-test.json:2: not what tools.score"),
        (lambda work: add_run(work, "rope-seed1"), "are the same model and seed"),
    ],
    ids=["broken score", "same seed twice"],
)
def test_a_folder_that_is_no_experiment_is_named(work: Path, change, message: str):
    change(work)
    with pytest.raises(UserError, match=message):
        results_text(work)


def test_models_are_chosen_and_ordered_by_name_and_the_first_is_compared_with_each_other(
    work: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    for name in ("rope-seed2", "sinusoidal-seed2", "rope-seed3", "learned"):
        add_run(work, name)
    refs = add_hypotheses(work)
    write(work / "learned" / "hyp-test.2016.de", system(refs, errors=0.2, seed=9))
    run_tool(results, monkeypatch, work, "--json", "--models", "sinusoidal", "learned", "rope")
    report = json.loads(capsys.readouterr().out)
    assert list(report["models"]) == ["sinusoidal", "learned", "rope"]
    pairs = [(each["baseline"], each["model"], each["seeds"]) for each in report["bootstraps"][::3]]
    assert pairs == [("sinusoidal", "learned", [1]), ("sinusoidal", "rope", [1, 2])]
    run_tool(results, monkeypatch, work, "--models", "sinusoidal", "rope")
    text = capsys.readouterr().out
    assert cells(text.splitlines()[0]) == ["", "sinusoidal (2 seeds)", "rope (3 seeds)"] and "learned" not in text


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["rope", "learned"], "--models learned: .* holds no such model, only rope, sinusoidal$"),
        (["rope-seed2"], "--models rope-seed2: .* holds no such model, only rope, sinusoidal$"),
        (["rope", "rope"], "--models has rope twice"),
    ],
)
@pytest.mark.parametrize("tool", [results, plot], ids=["results", "plot"])
def test_a_model_that_is_not_there_is_named(
    tool: ModuleType, work: Path, names: list[str], message: str, monkeypatch: pytest.MonkeyPatch
):
    add_run(work, "rope-seed2")
    with pytest.raises(UserError, match=message):
        run_tool(tool, monkeypatch, work, *(["--output", work / "x.png"] if tool is plot else []), "--models", *names)
