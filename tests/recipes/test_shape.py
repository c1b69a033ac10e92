"""Recipes and preparations are of one shape: what may be run, the same options, models by the names of the conf."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.recipes.test_iwslt14 import make_archive
from tests.support import ROOT
from tests.support.stubs import Stubs

TREE = subprocess.run(["git", "ls-files", "*.sh"], cwd=ROOT, capture_output=True, text=True, check=False).stdout.split()
LIBRARY = [name for name in TREE if name.startswith("scripts/lib/")]
PROGRAMS = [name for name in TREE if name not in LIBRARY]
# of a parallel corpus; convert_to_rope.sh, run_glue.sh and run_scm.sh begin with a checkpoint, run_mlm.sh and run_zh.sh
# are of running text: test_convert_refused.py, test_glue.py, test_scm.py, test_mlm.py, test_zh.py have their options
OTHERS = (
    *("test.sh", "benchmark_gpu.sh", "environment.sh", "convert_to_rope.sh"),
    *("run_mlm.sh", "prepare_text.sh", "run_zh.sh", "run_glue.sh", "prepare_glue.sh", "run_scm.sh", "prepare_scm.sh"),
)
RECIPES = [name for name in PROGRAMS if name.rpartition("/")[2] not in OTHERS]
OPTIONS = ("--conf", "--models", "--seeds", "--check", "--help", "STAGE")


@pytest.mark.parametrize("script", PROGRAMS)
def test_what_is_not_in_the_library_can_be_run_and_explains_itself(script: str):
    assert os.access(ROOT / script, os.X_OK)
    done = subprocess.run([ROOT / script, "--help"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and f"Usage: bash {script}" in done.stdout, done.stderr


@pytest.mark.parametrize("script", LIBRARY)
def test_what_is_in_the_library_is_only_sourced(script: str):
    assert not os.access(ROOT / script, os.X_OK)
    text = (ROOT / script).read_text(encoding="utf-8")
    assert not text.startswith("#!") and "\n# shellcheck shell=bash\n" in text


def test_recipes_source_one_line():
    for script in RECIPES:
        lines = (ROOT / script).read_text(encoding="utf-8").splitlines()
        (line,) = [line for line in lines if line.startswith(("source ", ". "))]
        assert line.endswith('lib/recipe.sh"'), script


@pytest.mark.parametrize("script", RECIPES)
def test_every_recipe_takes_the_same_options(stubs: Stubs, tmp_path: Path, script: str):
    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return stubs.run(tmp_path / "work", "bash", str(ROOT / script), *arguments)

    help_text = run("--help").stdout
    assert all(option in help_text for option in OPTIONS)
    chosen = ("--conf", "small", "--models", "sinusoidal rope", "--seeds", "3,4", "--check")
    done = run(*chosen, "train", "evaluate")
    assert done.returncode == 0, done.stderr
    for arguments, message in (
        (("--conf", "none"), "--conf none: there is no "),
        (
            ("--models", "rope alibi"),
            "--models must be of rope sinusoidal, but is rope\\ alibi; a model is ",
        ),
        (("--seeds", "x"), "--seeds must be numbers with commas between, as 1,2,3, but is x"),
        (("learn",), "a stage must be of fetch prepare train average evaluate, but is learn"),
        (("--beam", "4"), "there is no option --beam, see --help"),
    ):
        done = run(*chosen, *arguments)
        assert done.returncode == 1 and f"{Path(script).name}: error: {message}" in done.stderr
        assert done.stderr.count("\n") == 1
    assert not list((tmp_path / "work").rglob("*")) and not stubs.record.exists()


OWN = "MODEL_MY_MODEL=(--arch mine --my-option 'two words')\n"


def test_a_model_of_ones_own_is_one_more_array_in_the_conf(stubs: Stubs, tmp_path: Path):
    work = tmp_path / "work"
    done = stubs.run(work, *stubs.command("--models", "my_model rope", conf=OWN))
    assert done.returncode == 0, done.stderr
    mine, rope = stubs.calls("fairseq-train")
    assert mine[mine.index("--arch") : mine.index("--criterion")] == ["--arch", "mine", "--my-option", "two words"]
    assert mine[mine.index("--save-dir") + 1] == f"{work}/my_model"
    assert rope[rope.index("--arch") + 1] == "transformer_rope_tiny"
    assert rope[rope.index("--max-tokens") :][:4] == ["--max-tokens", "4096", "--update-freq", "1"]
    (results,) = stubs.calls("results")
    assert results[3:] == [str(work), "--models", "my_model", "rope"]
    assert f"--path {work}/my_model/averaged.pt" in done.stdout
    done = stubs.run(work, *stubs.command("evaluate", conf=OWN.replace("mine", "another")))
    assert done.returncode == 1 and f"remove {work}/my_model" not in done.stderr and "+--arch another" in done.stderr


def test_a_model_alone_stands_beside_those_that_are_there(stubs: Stubs, tmp_path: Path):
    done = stubs.run(tmp_path, *stubs.command("--models", "sinusoidal"))
    assert done.returncode == 0, done.stderr
    assert stubs.calls("results") == [["-m", "fairseq_rope_data", "results", str(tmp_path)]]


@pytest.mark.parametrize(
    ("conf", "arguments", "message"),
    [
        (
            OWN,
            ("--models", "alibi"),
            "--models must be of my_model rope sinusoidal, but is alibi; a model is ",
        ),
        (OWN, ("--models", "rope my_model rope"), "--models must name each model once, but is rope\\ my_model\\ rope"),
        ("ROPE+=(--encoder-layers 1)", (), "must set MODEL_ROPE=(...), not ROPE=(...)"),
        ("DECODED_ROPE=(sinusoidal --beam 1)", (), "must set MODEL_ROPE or DECODED_ROPE, not both"),
        (
            "DECODED_FAST=(big --beam 1)",
            (),
            "DECODED_FAST must begin with a model that is trained, but begins with big",
        ),
        ("MODEL_RAW=(--arch a)", (), "a model's name must not be that of another file in WORK, but is raw"),
    ],
    ids=["unknown", "twice", "as version 0.1.0 had it", "trained and decoded", "decoded of none", "a folder"],
)
def test_a_model_that_cannot_be_is_named(stubs: Stubs, tmp_path: Path, conf: str, arguments, message: str):
    done = stubs.run(tmp_path / "work", *stubs.command(*arguments, conf=conf))
    assert done.returncode == 1 and message in done.stderr and done.stderr.count(": error: ") == 1
    assert not list((tmp_path / "work").rglob("*"))


def test_a_variable_of_the_environment_is_no_model(stubs: Stubs, tmp_path: Path):
    done = stubs.run(tmp_path, *stubs.command("--models", "dir", "--check"), MODEL_DIR="/tmp")
    assert "--models must be of rope sinusoidal, but is dir" in done.stderr


def test_the_preparation_of_a_recipe_is_its_own_program(stubs: Stubs, tmp_path: Path):
    words = stubs.command()
    program = [word.replace("scripts/run_bitext.sh", "data-prep/prepare_bitext.sh") for word in words]
    done = stubs.run(tmp_path, *program)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "manifest.json").exists() and not (tmp_path / "rope").exists()
    done = stubs.run(tmp_path, *words)
    assert done.returncode == 0 and " make " not in done.stderr.split("train ")[0], done.stderr
    done = stubs.run(tmp_path, *program, BPE="sentencepiece")
    assert done.returncode == 1 and "prepare_bitext.sh: error: made from other text or settings" in done.stderr


def test_what_fails_in_the_preparation_is_told_once(stubs: Stubs, tmp_path: Path):
    shutil.copytree(stubs.text, tmp_path / "text")
    (tmp_path / "text" / "valid.de").write_text("one line\n")
    done = stubs.run(tmp_path / "work", *stubs.command(valid=str(tmp_path / "text" / "valid")))
    assert done.returncode == 1 and done.stderr.count("error: ") == 1, done.stderr
    assert done.stderr.count("stopped at ") == 1 and not stubs.calls("fairseq-train")


def test_iwslt14_is_trained_as_before_with_two_commands(stubs: Stubs, tmp_path: Path):
    text = {lang: [f"{lang} sentence {i} of this talk ." for i in range(300)] for lang in ("de", "en")}
    make_archive(tmp_path, text)
    work, given = tmp_path / "work", {"IWSLT14_ARCHIVES": str(tmp_path)}
    scripts = {"prepare": "data-prep/prepare_iwslt14_deen.sh", "train": "scripts/run_bitext.sh"}
    done = stubs.run(work, "bash", str(ROOT / scripts["prepare"]), **given)
    assert done.returncode == 0, done.stderr
    stages = ("train", "average", "evaluate")
    done = stubs.run(work, "bash", str(ROOT / scripts["train"]), "--conf", "iwslt14_deen", *stages)
    assert done.returncode == 0, done.stderr
    (train,) = stubs.calls("fairseq-train")
    again = stubs.run(work, "bash", str(ROOT / "scripts/run_iwslt14_deen.sh"), **given)
    assert again.returncode == 0 and again.stdout == done.stdout, again.stderr
    assert not stubs.calls("fairseq-train") and " make " not in again.stderr
    other = tmp_path / "other"
    alone = stubs.run(other, "bash", str(ROOT / "scripts/run_iwslt14_deen.sh"), **given)
    assert alone.returncode == 0, alone.stderr
    (call,) = stubs.calls("fairseq-train")
    assert [word.replace(str(other), str(work)) for word in call] == train
