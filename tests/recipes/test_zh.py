"""scripts/run_zh.sh: Chinese text to one model in stages of growing length, its table, and settings that cannot be."""

import contextlib
import os
import re
import signal
import subprocess
from pathlib import Path

import pytest

from tests.recipes.test_parallel import is_free, wait_for
from tests.support import ROOT
from tests.support.cases import cases, write_cases
from tests.support.environment import forking_environment
from tests.support.stubs import Stubs

SCRIPT = str(ROOT / "scripts" / "run_zh.sh")
CONF = """# Models that learn nothing in no time.
# shellcheck shell=bash disable=SC2034
STEPS=6 STEPS_512=4 STEPS_1536=2
source "$ROOT/scripts/conf/zh.env"
BPE_MERGES=60 TEST_LENGTHS=(16 32) BATCH_TOKENS=256 BATCH_ROFORMER_512=512 BATCH_ROFORMER_1536=384
SMALL=(--encoder-layers 1 --encoder-embed-dim 16 --encoder-ffn-embed-dim 16 --encoder-attention-heads 2)
MODEL_ROFORMER+=("${SMALL[@]}" --tokens-per-sample 16) MODEL_LEARNED+=("${SMALL[@]}" --tokens-per-sample 16)
MODEL_ROFORMER_512+=("${SMALL[@]}" --tokens-per-sample 32) MODEL_ROFORMER_1536+=("${SMALL[@]}" --tokens-per-sample 64)
SAVE=(--save-interval-updates 2 --validate-interval-updates 2 --keep-interval-updates 1 --no-epoch-checkpoints)
"""
SCM_CONF = """# a training in no time
# shellcheck shell=bash disable=SC2034
LENGTHS=16 MAX_EPOCH=1
source "$ROOT/scripts/conf/scm.env"
RATES=(1e-3) BATCH=8 MAX_BATCH=8
"""


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with Chinese text, a document a line, and a conf.env."""
    folder = tmp_path_factory.mktemp("中文")
    for name, count in (("train", 60), ("valid", 12)):
        lines = [each[letter] for each in cases(count, seed=count) for letter in "ABC"]
        (folder / f"{name}.txt").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    (folder / "conf.env").write_text(CONF)
    return folder


def command(text: Path, *arguments: str) -> list[str]:
    given = ["--train", str(text / "train.txt"), "--valid", str(text / "valid.txt")]
    return ["bash", SCRIPT, *given, "--conf", str(text / "conf.env"), *arguments]


def value(call: list[str], option: str) -> str:
    return call[len(call) - 1 - call[::-1].index(option) + 1]


@pytest.mark.parametrize("parallel", ["1", "3"])
def test_a_stage_begins_with_the_one_before_of_the_same_seed(stubs: Stubs, text: Path, tmp_path: Path, parallel: str):
    work = tmp_path / "work"
    words = command(text, "--models", "roformer roformer_512 roformer_1536", "--seeds", "1,2", "prepare", "train")
    done = stubs.run(work, *words, PARALLEL=parallel, TRAINING="0.2", MAX_TOKENS="100")
    assert done.returncode == 0, done.stderr
    calls = {Path(value(call, "--save-dir")).name: call for call in stubs.calls("fairseq-train")}
    assert len(calls) == 6
    # no stage of a seed is begun while another seed's earlier one could be: it would wait in its place
    assert parallel != "1" or list(calls) == [
        f"{name}{seed}" for name in ("roformer", "roformer_512", "roformer_1536") for seed in ("", "-seed2")
    ]
    for seed in ("", "-seed2"):
        assert "--finetune-from-model" not in calls[f"roformer{seed}"]
        for name, before, blocks in (("roformer_512", "roformer", 16), ("roformer_1536", "roformer_512", 6)):
            call = calls[f"{name}{seed}"]
            assert value(call, "--finetune-from-model") == f"{work}/{before}{seed}/checkpoint_last.pt"
            assert int(value(call, "--batch-size")) * int(value(call, "--update-freq")) == blocks
    assert (work / "text" / "vocabulary").is_file() and (work / "raw" / "train.zh").is_file()
    again = stubs.run(work, *words)
    assert again.returncode == 0 and not stubs.calls("fairseq-train"), again.stderr
    # the first stage is part of what the others are made from
    (tmp_path / "conf.env").write_text(CONF.replace("STEPS=6", "STEPS=8"))
    other = stubs.run(work, *words, "--conf", str(tmp_path / "conf.env"))
    removed = other.stderr.partition("remove this")[0]
    assert other.returncode == 1 and all(f"{work}/{name}" in removed for name in calls), other.stderr


ORDER = "--models must name roformer before roformer_512, which begins with it, but is roformer_512\\ roformer"
BPE = "BPE must be subword_nmt, sentencepiece, characters or words, but is syllables"


@pytest.mark.parametrize(
    ("models", "line", "message"),
    [
        ("roformer_512 roformer", "", ORDER),
        ("roformer", "BPE=syllables", BPE),
        ("roformer", "NORMALIZE=1", "NORMALIZE must be 0 and MOSES empty with BPE=characters, but are 1 and"),
        (
            "roformer_512",
            "AFTER_ROFORMER_512=nothing",
            "AFTER_ROFORMER_512 must be a model that is trained, but is nothing",
        ),
    ],
)
def test_settings_that_cannot_be_are_named_and_leave_nothing(
    stubs: Stubs, text: Path, tmp_path: Path, models: str, line: str, message: str
):
    (tmp_path / "conf.env").write_text(f"{CONF}{line}\n")
    done = stubs.run(tmp_path / "work", *command(text, "--conf", str(tmp_path / "conf.env"), "--models", models))
    assert done.returncode == 1 and message in done.stderr, done.stderr
    assert not list((tmp_path / "work").rglob("*"))


def test_a_stage_does_not_wait_for_ever_for_one_that_was_killed_with_its_recipe(
    stubs: Stubs, text: Path, tmp_path: Path
):
    work = tmp_path / "work"
    process = subprocess.Popen(
        command(text, "--models", "roformer roformer_512", "prepare", "train"),
        env=stubs.environment(work, PARALLEL="2", TRAINING="60"),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    log = work / "roformer" / "train.log"
    assert wait_for(lambda: log.exists() and (work / "roformer_512" / "train.out").exists())
    process.kill()
    process.wait()
    for training in groups_of(work / "roformer" / "train.out"):
        os.killpg(training, signal.SIGKILL)
    ended = wait_for(lambda: is_free(work / "roformer_512.lock"), 10)
    for waiting in groups_of(work / "roformer_512" / "train.out"):
        os.killpg(waiting, signal.SIGKILL)
    assert ended and "the recipe has ended" in (work / "roformer_512" / "train.out").read_text()


def groups_of(output: Path) -> set[int]:
    """The process groups of all that writes to this file."""
    groups = set()
    for descriptor in Path("/proc").glob("[0-9]*/fd/1"):
        with contextlib.suppress(OSError):
            if descriptor.resolve() == output.resolve():
                groups.add(os.getpgid(int(descriptor.parts[2])))
    return groups


def test_a_stage_without_the_one_before_is_not_trained(stubs: Stubs, text: Path, tmp_path: Path):
    done = stubs.run(tmp_path / "work", *command(text, "--models", "roformer_512"))
    assert done.returncode == 1 and "roformer is not trained: run the stage train of roformer first" in done.stderr
    assert not stubs.calls("fairseq-train")


UPDATES = "of the model {} must be a whole number from {}, but is {}: see MODEL_{} and TRAIN of --conf zh"
STEPS = {  # setting -> the option and model that it is in
    "STEPS=0": "--total-num-update " + UPDATES.format("roformer", 1, "0", "ROFORMER"),
    "STEPS=abc": "--total-num-update " + UPDATES.format("roformer", 1, "abc", "ROFORMER"),
    "STEPS_512=-5": "--total-num-update " + UPDATES.format("roformer_512", 1, "-5", "ROFORMER_512"),
    "STEPS_1536=1e3": "--total-num-update " + UPDATES.format("roformer_1536", 1, "1e3", "ROFORMER_1536"),
    "MAX_TOKENS=1535": "MAX_TOKENS must hold a block of roformer_1536, 1536 tokens, but is 1535",
    "GPUS=8": "BATCH_ROFORMER_1536 must be shared evenly by 8 GPUs, but is 4 block(s) of 1536 tokens for roformer_1536",
}


@pytest.mark.parametrize(("setting", "message"), STEPS.items(), ids=STEPS)
def test_what_a_later_stage_cannot_be_trained_with_is_named_at_once(
    stubs: Stubs, text: Path, tmp_path: Path, setting: str, message: str
):
    name, _, given = setting.partition("=")
    done = stubs.run(tmp_path / "work", *command(text, "--conf", "zh", "--check"), **{name: given})
    assert done.returncode == 1 and f"error: {message}" in done.stderr and done.stderr.count("error: ") == 1, (
        done.stderr
    )


def test_gpus_that_are_found_are_too_many_before_text_is_prepared(stubs: Stubs, text: Path, tmp_path: Path):
    python = stubs.bin / "python"
    real = python.read_text()
    python.write_text(real.replace("0 fp32", "8 bf16"))
    done = stubs.run(tmp_path / "work", *command(text, "--conf", "zh"))
    python.write_text(real)
    assert done.returncode == 1 and f"error: {STEPS['GPUS=8']}" in done.stderr, done.stderr
    assert not list((tmp_path / "work").rglob("*"))


@pytest.mark.parametrize("bpe", ["characters", "words"])
def test_the_conf_is_taken(stubs: Stubs, text: Path, tmp_path: Path, bpe: str):
    done = stubs.run(tmp_path / "work", *command(text, "--conf", "zh", "--check"), BPE=bpe)
    assert (done.returncode, done.stderr) == (0, "")


def finished(work: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a recipe to its end."""
    env = forking_environment(work, JOBS="1", GPUS="0", PRECISION="fp32")
    options = {"stdin": subprocess.DEVNULL, "capture_output": True, "text": True, "check": False}
    done = subprocess.run(words, cwd=ROOT, env=env, **options)
    assert done.returncode == 0, done.stderr[-4000:]
    return done


def test_text_becomes_stages_their_table_and_matched_cases(text: Path, tmp_path: Path):
    work = tmp_path / "work"
    done = finished(work, *command(text, "--models", "roformer roformer_512"))
    lines = [line for line in done.stdout.splitlines() if line.startswith("| ")]
    assert re.fullmatch(r"\| +\| length \| batch \| steps \| loss +\| accuracy \|", lines[0]), done.stdout
    assert re.match(r"\| roformer +\| 16 +\| 16 +\| 6 +\| \d\.\d\d \| \d+\.\d\d +\|", lines[2]), done.stdout
    assert re.match(r"\| roformer_512 +\| 32 +\| 16 +\| 4 +\| \d\.\d\d \| \d+\.\d\d +\|", lines[3]), done.stdout
    assert "bits on valid-16" in (work / "report.html").read_text(encoding="utf-8")
    # the second stage goes on from the first one: an untrained model would be at the loss of guessing
    log = (work / "roformer_512" / "train.log").read_text()
    assert f"'finetune_from_model': '{work}/roformer/checkpoint_last.pt'" in log

    (tmp_path / "conf.env").write_text(SCM_CONF)
    given = ["--conf", str(tmp_path / "conf.env"), "--from", str(work)]
    for name, count in (("train", 24), ("valid", 8)):
        given += [f"--{name}", str(write_cases(tmp_path / f"{name}.json", cases(count, seed=count)))]
    done = finished(tmp_path / "scm", "bash", str(ROOT / "scripts" / "run_scm.sh"), *given)
    header = next(line for line in done.stdout.splitlines() if "majority" in line)
    names = ["roformer_at_16", "roformer_512_at_16", "majority", "tf_idf"]
    assert [cell.strip() for cell in header.split("|")[2:-1]] == names
    # characters of the pre-training, and each model begins with its own stage
    assert (tmp_path / "scm" / "data-bin" / "input0" / "dict.txt").read_text() == (
        work / "data-bin" / "dict.txt"
    ).read_text()
    starts = [(tmp_path / "scm" / name / "pretrained").read_text() for name in names[:2]]
    assert len({*starts}) == 2
