"""The wheel, in an empty folder: all that users import, run and read is in it."""

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

import fairseq_rope
from tests.support import ROOT

DATA = ROOT / "tests" / "data" / "0.1.0"
# an environment's editable finder would serve the clone
BARE = 'import sys; sys.meta_path = [f for f in sys.meta_path if "editable" not in getattr(f, "__module__", "")]; '


class Installed(NamedTuple):
    """Where the wheel was unpacked, and a folder to work in."""

    site: Path
    cwd: Path

    def run(self, program: str, *arguments: str, stdin: str = "") -> str:
        """Run Python code in which only the wheel has our packages; return what it prints."""
        command = [sys.executable, "-c", BARE + program, *arguments]
        done = subprocess.run(
            command, input=stdin, capture_output=True, text=True, cwd=self.cwd, env=self.environment, check=False
        )
        assert done.returncode == 0, done.stderr[-3000:]
        return done.stdout

    def command(self, *arguments: str, stdin: str = "") -> str:
        """Run `fairseq-rope`, as the script that pip writes does."""
        return self.run("from fairseq_rope_data.__main__ import main; main()", *arguments, stdin=stdin)

    @property
    def environment(self) -> dict[str, str]:
        """Nothing of the outer environment that could name the clone."""
        return {
            "PATH": "/usr/bin:/bin",
            "PYTHONPATH": str(self.site),
            "OMP_NUM_THREADS": "1",
            "CUDA_VISIBLE_DEVICES": "",
        }


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    folder = tmp_path_factory.mktemp("wheel")
    (folder / "cwd").mkdir()
    # what git has, or would have: a build in the clone would leave files there and take old ones
    names = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", ":!tests", ":!docs"]
    for name in subprocess.run(names, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\0")[:-1]:
        if (ROOT / name).exists():
            (folder / "clone" / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / "clone" / name)
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    for words in (
        ["wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(folder), str(folder / "clone")],
        [
            "install",
            "--no-deps",
            "--no-index",
            "--find-links",
            str(folder),
            "--target",
            str(folder / "site"),
            "fairseq-rope",
        ],
    ):
        done = subprocess.run([*pip, *words], cwd=folder, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    return Installed(folder / "site", folder / "cwd")


def test_both_packages_come_from_the_wheel_with_one_version(installed: Installed):
    program = """
import importlib.metadata, fairseq_rope, fairseq_rope_data
print(fairseq_rope.__file__, fairseq_rope_data.__file__, fairseq_rope.__version__)
print(importlib.metadata.version("fairseq-rope"))
"""
    first, version = installed.run(program.strip()).splitlines()
    site = installed.site
    assert first.split() == [
        f"{site}/fairseq_rope/__init__.py",
        f"{site}/fairseq_rope_data/__init__.py",
        version,
    ]
    assert version == fairseq_rope.__version__


def test_the_wheel_has_every_source_and_nothing_else(installed: Installed):
    for name, parent in (("fairseq_rope", ROOT), ("fairseq_rope_data", ROOT / "data-prep")):
        ours, theirs = (
            {str(path.relative_to(folder)) for path in folder.rglob("*") if path.suffix in (".py", ".tsv", ".typed")}
            for folder in (parent / name, installed.site / name)
        )
        assert theirs == ours and "py.typed" in theirs


def test_the_command_is_installed_and_lists_its_programs(installed: Installed):
    script = (installed.site / "bin" / "fairseq-rope").read_text(encoding="utf-8")
    assert "from fairseq_rope_data.__main__ import main" in script
    assert re.search(r"^  translate +Translate raw text$", installed.command("--help"), re.M)


def test_programs_for_text_and_the_synthetic_corpus_work(installed: Installed):
    assert installed.command("tokenize", "--lang", "de", stdin="Es geht (meist).\n") == "Es geht ( meist ) .\n"
    installed.command("grammar", "corpus")
    assert len((installed.cwd / "corpus" / "train.en").read_text(encoding="utf-8").splitlines()) == 24000


def test_a_checkpoint_translates_and_user_dir_registers_the_archs(installed: Installed):
    line, translation, _ = (DATA / "default.tsv").read_text(encoding="utf-8").splitlines()[0].split("\t")
    chain = ["--path", str(DATA / "default.pt"), "--tokenizer", "moses", "--bpe", "subword_nmt", "--beam", "4", "--cpu"]
    chain += ["--bpe-codes", str(DATA / "codes"), "-s", "en", "-t", "de"]
    assert installed.command("translate", str(DATA), *chain, stdin=f"{line}\n") == f"{translation}\n"
    program = """
from argparse import Namespace
from fairseq import models, utils
utils.import_user_module(Namespace(user_dir=sys.argv[1]))
print(models.ARCH_MODEL_REGISTRY["transformer_rope"].__module__, sys.modules["fairseq_rope"].__file__)
"""
    folder = str(installed.site / "fairseq_rope")
    shown = installed.run(program.strip(), folder).split()
    assert shown == ["fairseq_rope.models.translation", f"{folder}/__init__.py"]
