"""Recipes in folders whose names shells and programs stumble over, and in a clone that cannot be written."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.recipes.test_bitext import translate_as_printed
from tests.support import ROOT
from tests.support.environment import environment
from tests.support.stubs import Stubs

SIZES = 'SIZES = {"train": 2000, "valid": 50, "test": 30, "long": 10}'
SMALL = """
BPE_MERGES=300
TEST_SETS=(test)
SIZE=(--encoder-layers 1 --encoder-embed-dim 32 --encoder-ffn-embed-dim 32
  --decoder-layers 1 --decoder-embed-dim 32 --decoder-ffn-embed-dim 32)
MODEL_ROPE+=("${SIZE[@]}")
TRAIN+=(--max-update 12)
SAVE=(--save-interval-updates 3 --keep-interval-updates 3 --no-epoch-checkpoints)
AVERAGE=(--num-update-checkpoints 2)
GENERATE+=(--beam 1 --max-len-b 5)
"""


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A clone in a folder with a space and an umlaut."""
    folder = tmp_path / "ein klön"
    for name in ("scripts", "data-prep", "fairseq_rope"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    return folder


def test_the_quickstart_and_the_command_that_it_prints_run(clone: Path, tmp_path: Path):
    with (clone / "scripts" / "conf" / "quickstart.env").open("a") as file:
        file.write(SMALL)
    corpus = clone / "data-prep" / "fairseq_rope_data" / "grammar" / "__main__.py"
    corpus.write_text(re.sub(r"SIZES = \{.*\}", SIZES, corpus.read_text(encoding="utf-8")), encoding="utf-8")
    work = tmp_path / "ö wörk"
    env = environment(work, PYTHONPATH=f"{clone}{os.pathsep}{clone / 'data-prep'}")
    command = ["bash", str(clone / "scripts" / "quickstart.sh")]
    done = subprocess.run(command, env=env, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    assert "| test: BLEU " in done.stdout and "Five sentences of the test set" in done.stdout
    assert len((work / "five.de").read_text(encoding="utf-8").splitlines()) == 5
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    assert len(translate_as_printed(done.stdout, elsewhere, env)) == 1


def test_a_relative_work_folder_with_a_dash_before_is_one(tmp_path: Path):
    stubs = Stubs(tmp_path / "stubs")
    done = stubs.run("-w", *stubs.command("fetch", "prepare", "train"))
    assert done.returncode == 0, done.stderr
    assert (stubs.folder / "-w" / "rope" / "trained").exists()


def read_only(folder: Path) -> list[str]:
    """The start of a command line that runs the rest where `folder` cannot be written."""
    subprocess.run(["chmod", "-R", "a-w", folder], check=True)
    # root writes in spite of modes, unless the right to do so is taken away
    start = [] if os.geteuid() else ["setpriv", "--bounding-set=-dac_override", "--inh-caps=-dac_override"]
    assert subprocess.run([*start, "touch", folder / "new"], capture_output=True, check=False).returncode
    return start


def test_a_clone_that_cannot_be_written_is_enough(clone: Path, tmp_path: Path):
    stubs = Stubs(tmp_path / "stubs")
    start = read_only(clone)
    done = stubs.run(tmp_path / "work", *start, *stubs.command(root=clone))
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "work" / "rope" / "score-test.json").exists()
    done = stubs.run("", *start, *stubs.command(root=clone))
    assert f"WORK must be a folder that can be written, but is {clone}".replace(" kl", "\\ kl") in done.stderr
    done = stubs.run(tmp_path / "other", *start, *stubs.command(root=clone), FAIRSEQ_ROPE_ENV="")
    assert f"FAIRSEQ_ROPE_ENV must be a folder that can be made, but is {clone}/.venv" in done.stderr
    assert not list(clone.rglob("__pycache__")) and not (clone / "runs").exists()
