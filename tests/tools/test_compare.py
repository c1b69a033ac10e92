"""Paired bootstrap: sacreBLEU's command line is the oracle."""

import json
import re
import sys
from pathlib import Path

import pytest

from fairseq_rope.scoring.compound_split import moses_tokens, split_compounds
from fairseq_rope.tools import compare as tool
from fairseq_rope_data.errors import UserError
from tests.support.corpora import sacrebleu_command, sentences, system, write

SAMPLES = 50
REFS = [line.replace("ba", "ba-ko").capitalize() for line in sentences(60, seed=7)]
SYSTEMS = {"a.de": system(REFS, errors=0.4, seed=8), "b.de": system(REFS, errors=0.35, seed=9), "c.de": REFS}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, lines in {"raw": REFS, **SYSTEMS}.items():
        write(tmp_path / name, lines)
    return tmp_path


def compare(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *options: object) -> str:
    files = [folder / name for name in SYSTEMS]
    line = ["compare", "--ref-raw", folder / "raw", "--samples", SAMPLES, *files, *options]
    monkeypatch.setattr(sys, "argv", [*map(str, line)])
    tool.main()
    return capsys.readouterr().out


def sacrebleus(folder: Path, *options: object) -> list[list[list[float]]]:
    """What sacreBLEU's command finds: score, mean, interval and p-value (none of the baseline) by system and metric.

    Read from its LaTeX: its JSON fails on chrF's numbers.
    """
    command = [folder / "raw", "-i", *(folder / name for name in SYSTEMS), "--paired-bs", "--paired-bs-n", SAMPLES]
    table = sacrebleu_command(*command, "--format", "latex", "--width", 6, "--no-color", *options).split("midrule")[1]
    rows = [line.split("&")[1:] for line in table.splitlines() if "&" in line]
    # without p, which is of one sign there
    return [[[float(number) for number in re.findall(r"\d+\.\d+", cell)][:3] for cell in row] for row in rows]


def as_sacrebleu(result: dict[str, float | None]) -> list[object]:
    return [pytest.approx(result[key], abs=1e-6) for key in ("score", "mean", "interval")]


@pytest.mark.parametrize("options", [[], ["--lowercase"]], ids=["mixed case", "lower case"])
def test_bleu_and_chrf_are_those_of_sacrebleus_command(
    folder: Path, options: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ours = json.loads(compare(folder, monkeypatch, capsys, "--json", *options))
    more = ["--lowercase", "--chrf-lowercase"] if options else []
    theirs = sacrebleus(folder, "-m", "bleu", "chrf", *more)
    assert [metric["metric"] for metric in ours] == ["BLEU", "chrF2"]
    for row, figures in enumerate(theirs):
        assert figures == [as_sacrebleu(metric["results"][row]) for metric in ours]
    names = [str(folder / name) for name in SYSTEMS]
    assert [result["system"] for result in ours[0]["results"]] == names
    assert ours[0]["results"][0]["p_value"] is None and ours[0]["results"][2]["p_value"] < 0.05


def test_compound_split_is_sacrebleus_on_split_tokens(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ours = json.loads(compare(folder, monkeypatch, capsys, "--json", "-t", "de"))[2]
    split = folder / "split"
    split.mkdir()
    for name, lines in {"raw": REFS, **SYSTEMS}.items():
        write(split / name, split_compounds(moses_tokens(lines, "de")))
    options = ["-m", "bleu", "--tokenize", "none", "--force", "--smooth-method", "none"]
    assert ours["metric"] == "compound-split BLEU"
    assert sacrebleus(split, *options) == [[as_sacrebleu(result)] for result in ours["results"]]
    assert "compound_split" in ours["signature"] and f"bs:{SAMPLES}|seed:12345" in ours["signature"]


def test_the_table_says_all_for_people_and_the_seed_is_sacrebleus(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    report = {each["metric"]: each for each in json.loads(compare(folder, monkeypatch, capsys, "--json"))}
    lines = compare(folder, monkeypatch, capsys).splitlines()
    first, second = report["BLEU"]["results"][:2]
    form = "{score:.2f} ({mean:.2f} ± {interval:.2f})".format
    assert [cell.strip() for cell in lines[0].split("|")[1:-1]] == ["", "BLEU", "chrF2"]
    assert lines[2].split("|")[2].strip() == form(**first)
    assert lines[3].split("|")[2].strip() == f"{form(**second)}, p = {second['p_value']:.4f}"
    assert lines[5:-1] == [f"{name}: {each['signature']}" for name, each in report.items()]
    assert lines[-1] == "One seed: nothing can be concluded about the noise of training."
    monkeypatch.setenv("SACREBLEU_SEED", "7")
    other = compare(folder, monkeypatch, capsys).splitlines()
    assert "seed:7|" in other[5] and other[2] != lines[2]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda folder: write(folder / "b.de", REFS[:9]), r"raw has 60 lines, but SYSTEM .*b.de has 9: .*raw:10 is"),
        (lambda folder: write(folder / "b.de", REFS[::-1]), r"b.de:\d+: out of order"),
        (lambda folder: write(folder / "b.de", ["", *REFS[1:]]), "b.de:1: the hypothesis is empty"),
        (lambda folder: write(folder / "b.de", ["x@@ y", *REFS[1:]]), "b.de:1: a mark of BPE, @@"),
        (lambda folder: write(folder / "b.de", ["x @-@ y", *REFS[1:]]), "b.de:1: hyphens are split already"),
    ],
    ids=["fewer lines", "out of order", "empty", "BPE", "split hyphens"],
)
def test_systems_that_cannot_be_trusted_are_named(
    folder: Path, change, message: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    change(folder)
    with pytest.raises(UserError, match=message):
        compare(folder, monkeypatch, capsys, "-t", "de")


def test_what_is_allowed_is_told_on_stderr(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write(folder / "b.de", ["", *REFS[1:]])
    files = [folder / name for name in ("a.de", "b.de")]
    line = ["compare", "--ref-raw", folder / "raw", "--samples", 2, *files, "--allow", "empty"]
    monkeypatch.setattr(sys, "argv", [*map(str, line)])
    tool.main()
    assert "compare: note: --allow empty: 1 of 60 lines" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--samples", "0"], "--samples must be between 1 and 100000, but is 0"),
        (["--samples", "9" * 30], "--samples must be between 1 and 100000, but is 999"),
        (["-t", "de_DE"], "--target-lang must be a code of two or three small letters, but is 'de_DE'"),
        (["again"], "a file is given twice"),
        (["by a link"], "a file is given twice"),
        (["seed"], "SACREBLEU_SEED in the environment must be a number or None, but is '-5'"),
    ],
    ids=["no samples", "too many samples", "language", "twice", "twice by a link", "seed"],
)
def test_options_that_do_not_fit_are_refused(
    folder: Path,
    options: list[str],
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (folder / "link").symlink_to("a.de")
    more = {"again": [folder / "a.de"], "by a link": [folder / "link"], "seed": []}.get(options[0], options)
    if options == ["seed"]:
        monkeypatch.setenv("SACREBLEU_SEED", "-5")
    with pytest.raises(UserError, match=message):
        compare(folder, monkeypatch, capsys, *more)
