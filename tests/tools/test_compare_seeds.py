"""`compare` of several seeds of each system."""

import json
import statistics
import sys
from pathlib import Path

import pytest

from fairseq_rope.experiments.pairs import ONE_SEED
from fairseq_rope.tools import compare as tool
from fairseq_rope_data.errors import UserError
from tests.support.corpora import sentences, system, write
from tests.support.runs import cells

REFS = [line.replace("ba", "ba-ko") for line in sentences(40, seed=7)]
SEEDS = 3


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A reference and, of each of two systems, the text of three seeds."""
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "raw", REFS)
    for seed in range(SEEDS):
        write(tmp_path / f"a{seed}", system(REFS, errors=0.4, seed=seed))
        write(tmp_path / f"b{seed}", system(REFS, errors=0.33, seed=10 + seed))
    return tmp_path


def compare(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], line: str) -> str:
    monkeypatch.setattr(sys, "argv", ["compare", "--ref-raw", "raw", "--samples", "60", *line.split()])
    tool.main()
    return capsys.readouterr().out


BOTH = "--system a a0 a1 a2 --system b b0 b1 b2"


def test_both_noises_of_the_mean_difference_stand_each_under_its_name(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    report = json.loads(compare(monkeypatch, capsys, f"{BOTH} --json -t de"))
    assert [each["metric"] for each in report] == ["BLEU", "chrF2", "compound-split BLEU"]
    for metric in report:
        first, second = (row["values"] for row in metric["scores"])
        (paired,), (pooled,) = metric["seed_differences"], metric["bootstraps"]
        values = [own - other for own, other in zip(second, first, strict=True)]
        assert paired["values"] == pytest.approx(values) and len(values) == SEEDS
        assert paired["mean"] == pytest.approx(pooled["mean"]) == pytest.approx(statistics.fmean(values))
        # the t interval of three values: 4.303 standard errors
        half = 4.302653 * statistics.stdev(values) / SEEDS**0.5
        ends = (paired["mean"] - half, paired["mean"] + half)
        assert (paired["low"], paired["high"]) == pytest.approx(ends, rel=1e-4)
        assert (pooled["low"], pooled["high"]) != pytest.approx(ends, rel=1e-2) and 0 < pooled["p_value"] <= 1
        for row in metric["scores"]:
            assert row["mean"] == pytest.approx(statistics.fmean(row["values"]))
            assert row["sd"] == pytest.approx(statistics.stdev(row["values"]))
    scores, training, paired, test_set, pooled = compare(monkeypatch, capsys, f"{BOTH} -t de").rstrip().split("\n\n")
    assert training == "Difference from a over 3 seeds, paired by seed: mean [95% t interval], of the noise of training"
    assert test_set == (
        "Paired bootstrap, pooled over 3 seeds: mean difference from a [95% interval], of the noise of the test set"
    )
    bleu = report[0]
    shown = [cells(line)[:2] for line in (*scores.splitlines(), *paired.splitlines(), *pooled.splitlines()[:3])]
    form = "{mean:+.2f} [{low:+.2f}, {high:+.2f}]".format
    assert [row for row in shown if "--" not in row[1]] == [
        ["", "BLEU"],
        *([row["system"], f"{row['mean']:.2f} ± {row['sd']:.2f}"] for row in bleu["scores"]),
        ["", "BLEU"],
        ["b", form(**bleu["seed_differences"][0])],
        ["", "BLEU"],
        ["b", form(**bleu["bootstraps"][0]) + f", p = {bleu['bootstraps'][0]['p_value']:.4f}"],
    ]
    assert pooled.splitlines()[3:] == [f"{each['metric']}: {each['signature']}" for each in report]


def test_one_seed_says_nothing_about_training(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    line = "--system a a0 --system b b0"
    text = compare(monkeypatch, capsys, line)
    assert text.count("noise of training") == text.count(ONE_SEED) == 1 and "t interval" not in text
    report = json.loads(compare(monkeypatch, capsys, f"{line} --json"))
    assert report[0]["seed_differences"] == [] and report[0]["scores"][0]["sd"] is None
    # and the rest is the plain comparison of the files
    plain = json.loads(compare(monkeypatch, capsys, "a0 b0 --json"))
    assert report[0]["bootstraps"][0]["p_value"] == plain[0]["results"][1]["p_value"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("--system a a0 a1 --system b b0", "--system must have a file for each seed, but a has 2 and b 1"),
        ("--system a a0 --system b", "--system must have a file for each seed, but a has 1 and b 0"),
        ("--system a --system b", "--system must have a file for each seed, but a has 0 and a 0"),
        ("--system a a0 a1 --system b b0 a1", "a file is given twice: to compare it with itself says nothing"),
        ("--system a a0 a0 --system b b0 b1", "a file is given twice: to compare it with itself says nothing"),
        ("--system a a0 --system a a1", "--system a is given twice: all its seeds belong to one --system"),
        ("--system a a0", "a is the baseline: give another system to compare with it"),
        ("a0", "a0 is the baseline: give another system to compare with it"),
        ("a0 b0 --system a a1", "give either the FILE of each system, two or more, or --system NAME FILE... for each"),
        ("", "give either the FILE of each system, two or more, or --system NAME FILE... for each"),
        ("--system a a0 --system b none", "cannot read none: there is no such file"),
    ],
)
def test_systems_that_are_no_pairs_are_refused(
    folder: Path, line: str, message: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    with pytest.raises(UserError) as error:
        compare(monkeypatch, capsys, line)
    assert str(error.value) == message
