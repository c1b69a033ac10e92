"""The command line of `score`: fairseq-score is the oracle."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from fairseq_rope.scoring.metrics import fairseq_bleu
from fairseq_rope.tools import score as tool
from fairseq_rope_data.errors import UserError
from tests.support import forked
from tests.support.generate_logs import HYPS, REFS, log_lines, write


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--log", "a", "--sys", "b"], "--log excludes --sys and --ref"),
        (["--sys", "a"], "give --log, or --sys with --ref or --ref-raw or both"),
        ([], "give --log, or --sys"),
        (["--ref", "a"], "give --log, or --sys"),
        (["--sys", "-", "--ref", "-"], "only one file can be -, stdin"),
        (["--sys", "a", "--ref", "b", "--save-hyps", "b"], "--save-hyps b would overwrite --ref"),
        (["--log", "../x/../a", "--save-hyps", "../a"], "--save-hyps ../a would overwrite --log"),
    ],
)
def test_options_that_do_not_fit_are_refused(options: list[str], message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["score", *options])
    with pytest.raises(UserError, match=message):
        tool.main()


def test_earlier_spellings_of_options_are_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    hyps, refs = write(tmp_path / "hyps", ["a so@@ me b", "c d"]), write(tmp_path / "refs", ["a some b", "c d"])
    printed = []
    for options in (["--detokenized", "--allow", "bpe-markers"], ["--detokenised", "--allow", "marks"]):
        monkeypatch.setattr(sys, "argv", ["score", "--sys", str(hyps), "--ref", str(refs), *options])
        tool.main()
        printed.append(capsys.readouterr().out)
    assert printed[0] == printed[1] and "note: --allow bpe-markers: 1 of 2 lines" in printed[0]


def command(*options: object, text: str = "") -> subprocess.CompletedProcess[str]:
    return forked.run("fairseq_rope.tools.score", *options, text=text)


def test_the_command_prints_what_fairseq_score_prints(tmp_path: Path) -> None:
    files = ["--sys", write(tmp_path / "sys", HYPS), "--ref", write(tmp_path / "ref", REFS)]
    ours = command(*files, "--target-lang", "de", "--allow", "empty")
    theirs = forked.run("fairseq_cli.score", *files)
    assert (ours.returncode, theirs.returncode) == (0, 0), ours.stderr + theirs.stderr
    lines = ours.stdout.splitlines()
    assert lines[:2] == ["5 sentences", theirs.stdout.splitlines()[-1]]
    assert lines[5].startswith("BLEU = ") and "tok:13a" in lines[6] and lines[7].startswith("chrF2 = ")


def test_the_command_reads_a_log_from_stdin_and_prints_json() -> None:
    done = command("--log", "-", "--json", "-t", "de", "--allow", "empty", text="\n".join(log_lines(HYPS, REFS)))
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    names = ["BLEU4", "BLEU4 without BPE", "BLEU", "chrF2", "compound-split BLEU"]
    assert [entry["name"] for entry in report["scores"]] == names
    assert report["scores"][0]["text"] == fairseq_bleu(HYPS, REFS).text
    assert report["sentences"] == 5 and set(report["versions"]) == {"sacrebleu", "sacremoses"}


def test_the_command_fails_in_one_line(tmp_path: Path) -> None:
    done = command("--log", tmp_path / "none")
    assert done.returncode == 1 and done.stdout == "" and "Traceback" not in done.stderr
    assert done.stderr.splitlines()[-1] == f"score: error: cannot read {tmp_path / 'none'}: there is no such file"
