"""Bootstraps of a work folder: pooled over seeds, and of BLEU by the length of the source."""

import functools
import json
import statistics
from pathlib import Path

import numpy as np
import pytest

from fairseq_rope.experiments.bootstraps import pooled_table
from fairseq_rope.experiments.data import results_json
from fairseq_rope.experiments.results import results_text
from fairseq_rope.scoring.comparison import compare_seeds
from fairseq_rope.scoring.evaluation import Evaluation, ScoreSettings
from fairseq_rope.scoring.metrics import bleu_metric
from fairseq_rope.scoring.report import score
from fairseq_rope.scoring.report_file import report_json
from fairseq_rope.scoring.text import Text
from tests.support.corpora import sentences, system, write
from tests.support.runs import add_run

REFS = sentences(30, seed=1)
SOURCE = [("wo@@ rt " * (i % 25 + 1)).strip() for i in range(30)]
RUNS = ("rope", "rope-seed2", "rope-seed3", "sinusoidal", "sinusoidal-seed2", "sinusoidal-seed4")


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """Three seeds of each of two models, two of them the same, scored with a source."""
    for folder in ("raw", "text"):
        (tmp_path / folder).mkdir()
    write(tmp_path / "raw" / "test.2016.de", REFS)
    write(tmp_path / "raw" / "test.2016.en", SOURCE)
    write(tmp_path / "text" / "test.2016.en", SOURCE)
    # of another test set, whose name this one's begins with
    for other in ("raw/test.de", "raw/test.en", "text/test.en", "raw/test.2016.extra.en"):
        write(tmp_path / other, ["x"])
    settings = ScoreSettings("de", detokenized=True)
    for seed, name in enumerate(RUNS):
        hyps = system(REFS, errors=0.3, seed=seed)
        folder = add_run(tmp_path, name)
        write(folder / "hyp-test.2016.de", hyps)
        evaluation = Evaluation(Text("h", hyps), ref_raw=Text("r", REFS), src=Text("s", SOURCE))
        (folder / "score-test.2016.json").write_text(report_json(score(evaluation, settings)))
    return tmp_path


def test_seeds_that_both_models_have_are_pooled(work: Path):
    files = {
        name: [work / f"{name}{seed}" / "hyp-test.2016.de" for seed in ("", "-seed2")]
        for name in ("rope", "sinusoidal")
    }
    expected = compare_seeds(files, work / "raw" / "test.2016.de", ScoreSettings("de", detokenized=True))
    sections = results_text(work).split("\n\n")
    title = (
        "Paired bootstrap on test.2016, pooled over the seeds 1, 2: mean difference from rope [95% interval], "
        "of the noise of the test set"
    )
    assert sections[sections.index(title) + 1] == pooled_table(expected)
    # beside the other noise, and neither in the same table
    assert sections[1].startswith("Difference from rope over seeds") and "of the noise of training" in sections[1]
    assert sum("Paired" in section for section in sections) == 1
    for found, metric in zip(json.loads(results_json(work))["bootstraps"], expected, strict=True):
        (difference,) = metric.differences
        assert (found["baseline"], found["model"], found["seeds"]) == ("rope", "sinusoidal", [1, 2])
        assert (found["mean"], found["low"], found["high"]) == (difference.mean, difference.low, difference.high)
        first, second = found["by_seed"]["2"]
        assert (first["score"], second["score"]) == (metric.scores["rope"][1], metric.scores["sinusoidal"][1])
        assert second["p_value"] == metric.by_seed[1].results[1].p_value


def test_a_bucket_has_the_interval_of_its_mean_over_seeds(work: Path):
    buckets = json.loads(results_json(work))["models"]["rope"]["buckets"]["test.2016"]
    assert [bucket["words"] for bucket in buckets] == ["1-10", "11-20", "21-30"]
    assert [bucket["sentences"] for bucket in buckets] == [15, 10, 5]
    assert all(bucket["low"] < bucket["mean"] < bucket["high"] for bucket in buckets)
    lines = range(20, 25)
    hyps = [(work / name / "hyp-test.2016.de").read_text().splitlines() for name in RUNS[:3]]

    @functools.cache
    def mean_score(drawn: tuple[int, ...]) -> float:
        refs = [[REFS[i] for i in drawn]]
        return statistics.fmean(bleu_metric().corpus_score([hyp[i] for i in drawn], refs).score for hyp in hyps)

    draws = np.random.default_rng(12345).choice(5, size=(1000, 5))
    means = sorted(mean_score(tuple(sorted(lines[i] for i in row))) for row in draws)
    assert (buckets[2]["low"], buckets[2]["high"]) == pytest.approx((means[25], means[-26]), abs=1e-4)
    assert buckets[2]["mean"] == pytest.approx(mean_score(tuple(lines)))


def count_others(work: Path) -> None:
    """Add one to the sentences of each bucket in the reports of rope, as if the test set had been another one."""
    for path in work.glob("rope*/score-test.2016.json"):
        report = json.loads(path.read_text())
        for bucket in report["buckets"]:
            bucket["sentences"] += 1
        path.write_text(json.dumps(report))


@pytest.mark.parametrize(
    "change",
    [
        lambda work: write(work / "text" / "test.2016.en", SOURCE[1:]),
        lambda work: write(work / "text" / "test.2016.en", SOURCE[7:] + SOURCE[:7]),
        lambda work: (work / "text" / "test.2016.en").unlink(),
        lambda work: (work / "raw" / "test.2016.de").unlink(),
        lambda work: write(work / "rope-seed2" / "hyp-test.2016.de", system(REFS, errors=0.3, seed=99)),
        lambda work: write(work / "rope-seed2" / "hyp-test.2016.de", REFS[:-1]),
        lambda work: (work / "rope-seed2" / "hyp-test.2016.de").unlink(),
        count_others,
    ],
    ids=[
        "source of other length",
        "source in other order",
        "no source",
        "no reference",
        "another text",
        "a shorter text",
        "no text",
        "other numbers of sentences",
    ],
)
def test_a_bucket_that_cannot_be_found_again_has_no_interval(work: Path, change):
    change(work)
    buckets = json.loads(results_json(work, ["rope"]))["models"]["rope"]["buckets"]["test.2016"]
    assert len(buckets) == 3 and all(bucket["low"] is bucket["high"] is None for bucket in buckets)
    assert all(len(bucket["values"]) == 3 and bucket["mean"] for bucket in buckets)


def test_a_bucket_of_one_sentence_has_no_interval_for_nothing_else_can_be_drawn(work: Path):
    write(work / "text" / "test.2016.en", [*SOURCE[:29], "wort " * 51])
    for name in RUNS:
        path = work / name / "score-test.2016.json"
        hyps = Text("h", (work / name / "hyp-test.2016.de").read_text().splitlines())
        source = Text("s", (work / "text" / "test.2016.en").read_text().splitlines())
        evaluation = Evaluation(hyps, ref_raw=Text("r", REFS), src=source)
        path.write_text(report_json(score(evaluation, ScoreSettings("de", detokenized=True))))
    *others, alone = json.loads(results_json(work))["models"]["rope"]["buckets"]["test.2016"]
    assert (alone["words"], alone["sentences"], alone["low"], alone["high"]) == ("51+", 1, None, None)
    assert all(bucket["low"] < bucket["mean"] for bucket in others)
