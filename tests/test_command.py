"""The console command `fairseq-rope`: every program by its name, as `python -m` runs it."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from fairseq_rope_data.__main__ import PROGRAMS
from tests.support import ROOT
from tests.support.experiments import experiment
from tests.support.masked_runs import masked_runs

# programs that recipes alone call
FOR_RECIPES = {
    *("fingerprint", "follow", "gunzip", "join_text", "pretrained", "provenance", "recorded", "tar_archive"),
}
# what would show that torch is loaded: it takes seconds and 300 MB
WITHOUT_TORCH = "import sys; sys.modules['torch'] = None; from fairseq_rope_data.__main__ import main; main()"


def run(*arguments: str, stdin: str = "") -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-c", WITHOUT_TORCH, *arguments]
    return subprocess.run(command, input=stdin, capture_output=True, text=True, cwd=ROOT)


def test_every_program_has_a_command():
    sources = [*ROOT.glob("fairseq_rope/**/*.py"), *ROOT.glob("data-prep/fairseq_rope_data/**/*.py")]
    programs = {
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removeprefix("data-prep.").removesuffix(".__main__")
        for path in sources
        if 'if __name__ == "__main__":' in path.read_text(encoding="utf-8")
    }
    inner = {f"fairseq_rope_data.{name}" for name in FOR_RECIPES}
    assert programs - inner - {"fairseq_rope_data"} == set(PROGRAMS.values())


def test_help_has_a_line_for_each_command_and_loads_no_torch():
    done = run("--help")
    rows = dict(re.findall(r"^  (\S+) +(\S.*)$", done.stdout, re.M))
    assert list(rows) == list(PROGRAMS)
    assert rows["check-corpus"] == "Check parallel text before hours are spent on it"
    assert max(map(len, done.stdout.splitlines())) <= 120
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("arguments", "shown"), [(["averag"], "averag"), ([], "missing"), (["--version"], "--version")]
)
def test_an_unknown_command_is_an_error_of_one_line(arguments: list[str], shown: str):
    done = run(*arguments)
    assert (
        done.stderr == f"fairseq-rope: error: the command must be one that fairseq-rope --help lists, but is {shown}\n"
    )
    assert (done.returncode, done.stdout) == (1, "")


def test_an_interrupt_while_a_program_is_loaded_is_no_traceback(tmp_path: Path):
    (tmp_path / "torch.py").write_text("raise KeyboardInterrupt\n")
    env = {**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"}
    command = [sys.executable, "-m", "fairseq_rope_data", "average", "--help"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=env)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


def test_a_program_for_text_does_what_its_module_does_without_torch():
    done = run("tokenize", "--lang", "en", stdin="It works (mostly).\n")
    assert (done.returncode, done.stdout) == (0, "It works ( mostly ) .\n"), done.stderr


def test_the_error_of_a_program_is_its_own():
    done = run("learn-bpe", "--merges", "0", "README.md")
    assert (done.returncode, done.stderr) == (1, "learn_bpe: error: --merges must be at least 1, but is 0\n")


def test_what_reads_runs_says_the_same_without_torch(tmp_path: Path):
    work = experiment(tmp_path / "work", {"rope": 0.2, "sinusoidal": 0.5}, seeds=1)
    masked = masked_runs(tmp_path / "masked", {"roformer": {16: 0.0}, "bert": {16: 0.5}})
    hyps = [str(work / name / "hyp-test.de") for name in ("rope", "sinusoidal")]
    for command, *arguments in (
        ("results", str(work)),
        ("results", str(masked)),
        ("report", str(work), "--output", str(tmp_path / "report.html")),
        ("plot", str(work), "--output", str(tmp_path / "curves.png")),
        ("compare", "--ref-raw", str(work / "raw" / "test.de"), "-t", "de", *hyps),
        ("keep", str(work), "--output", str(tmp_path / "kept")),
        ("score", "--sys", hyps[0], "--ref", str(work / "raw" / "test.de"), "--detokenized"),
    ):
        done = run(command, *arguments)
        assert done.returncode == 0 and done.stdout, done.stderr
    with_torch = [sys.executable, "-m", PROGRAMS["results"], str(work)]
    assert subprocess.check_output(with_torch, text=True, cwd=ROOT) == run("results", str(work)).stdout


@pytest.mark.parametrize(
    ("arguments", "package", "error"),
    [
        (("learn-bpe", "--merges", "5", "README.md"), "tokenizers", "learn_bpe: error: to learn BPE needs tokenizers"),
        (
            ("check-corpus", "--source-lang", "en", "--target-lang", "de", "x"),
            "py3langid",
            "check_corpus: error: to tell languages apart needs py3langid",
        ),
    ],
)
def test_a_missing_extra_is_named(arguments: tuple[str, ...], package: str, error: str):
    program = WITHOUT_TORCH.replace("'torch'", repr(package))
    done = subprocess.run([sys.executable, "-c", program, *arguments], capture_output=True, text=True, cwd=ROOT)
    assert (done.returncode, done.stderr) == (1, f"{error}: pip install 'fairseq-rope[data]'\n")


def test_the_package_is_the_same_command_and_alone_prints_its_folder():
    prints = [sys.executable, "-m", "fairseq_rope"]
    folder = subprocess.run(prints, capture_output=True, text=True, check=True, cwd=ROOT)
    assert folder.stdout == f"{ROOT / 'fairseq_rope'}\n"
    table = subprocess.run([*prints, "--help"], capture_output=True, text=True, check=True, cwd=ROOT)
    assert table.stdout == run("--help").stdout
