"""scripts/lib/batch.sh: a batch of running text is as many whole blocks on any hardware, or is refused."""

import os
import re
import subprocess

import pytest

from tests.support import ROOT

SHARE = """set -euo pipefail
source scripts/lib/recipe.sh
source scripts/lib/masked_lm.sh
parse_options "$NAME" --models "$MODEL"
one_language
check_hardware
train_options options "$MODEL" 1
model_batch batch "$MODEL" "${options[@]}" ${MORE:-}
printf '%s\\n' "${batch[*]}"
"""
ONE = dict(GPUS="0")
BATCHES = {  # conf, model, settings -> options, blocks of an update
    "mlm": ("mlm", "bert", ONE, "--batch-size 32 --update-freq 1", 32),
    "less at once than a batch": (
        "mlm",
        "bert",
        dict(GPUS="0", MAX_TOKENS="100"),
        "--batch-size 2 --update-freq 16",
        32,
    ),
    "one block at once": ("mlm", "bert", dict(GPUS="1", MAX_TOKENS="63"), "--batch-size 1 --update-freq 32", 32),
    "base size on a GPU": ("bert_base", "bert", dict(GPUS="1"), "--batch-size 8 --update-freq 8", 64),
    "on 4 GPUs": ("bert_base", "bert", dict(GPUS="4"), "--batch-size 8 --update-freq 2", 64),
    "on 2 nodes": (
        "bert_base",
        "bert",
        dict(GPUS="8", NODES="2", MASTER_ADDR="a"),
        "--batch-size 4 --update-freq 1",
        64,
    ),
    "a first stage": ("zh", "roformer", ONE, "--batch-size 16 --update-freq 1", 16),
    "its own batch": ("zh", "roformer_512", dict(GPUS="0", MAX_TOKENS="1000"), "--batch-size 1 --update-freq 8", 8),
    "long blocks": ("zh", "roformer_1536", ONE, "--batch-size 2 --update-freq 2", 4),
}
BAD = {
    "GPUs": (
        "bert_base",
        "bert",
        dict(GPUS="3"),
        "BATCH_TOKENS must be shared evenly by 3 GPUs, but is 64 block(s) of 512 tokens for bert: set GPUS to ",
    ),
    "GPUs of a stage": (
        "zh",
        "roformer_1536",
        dict(GPUS="8"),
        "BATCH_ROFORMER_1536 must be shared evenly by 8 GPUs, but is 4 block(s) of 1536 tokens for roformer_1536",
    ),
    "memory": (
        "zh",
        "roformer_1536",
        dict(MAX_TOKENS="1535"),
        "MAX_TOKENS must hold a block of roformer_1536, 1536 tokens, but is 1535",
    ),
    "a batch": (
        "mlm",
        "bert",
        dict(MORE="--tokens-per-sample 1025"),
        "BATCH_TOKENS must hold a block of bert, 1025 tokens, but is 1024",
    ),
}


def share(name: str, model: str, settings: dict[str, str]) -> subprocess.CompletedProcess[str]:
    names = "SLURM|MASTER|NODE|GPUS|PRECISION|MAX_|BPE|MORE"
    kept = {name: value for name, value in os.environ.items() if not re.match(names, name)}
    env = {**kept, "NAME": name, "MODEL": model, **settings}
    return subprocess.run(["bash", "-c", SHARE], cwd=ROOT, env=env, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(("conf", "model", "settings", "options", "blocks"), BATCHES.values(), ids=BATCHES)
def test_a_batch_has_all_its_blocks_on_any_hardware(
    conf: str, model: str, settings: dict[str, str], options: str, blocks: int
):
    done = share(conf, model, settings)
    assert done.stdout.strip() == options, done.stderr
    workers = max(int(settings["GPUS"]), 1) * int(settings.get("NODES", "1"))
    size, frequency = map(int, re.findall(r"\d+", options))
    assert workers * size * frequency == blocks
    shown = options.replace(" --update", " x --update")
    assert f"{workers} x {shown} = {blocks} blocks of " in done.stderr


def test_samples_that_are_no_blocks_are_counted_in_tokens():
    done = share("mlm", "bert", {"GPUS": "0", "MAX_TOKENS": "100", "MORE": "--sample-break-mode eos"})
    assert done.stdout.strip() == "--max-tokens 93 --update-freq 11", done.stderr


@pytest.mark.parametrize(("conf", "model", "settings", "message"), BAD.values(), ids=BAD)
def test_a_batch_that_cannot_be_is_named(conf: str, model: str, settings: dict[str, str], message: str):
    done = share(conf, model, settings)
    assert done.returncode == 1 and f"error: {message}" in done.stderr and not done.stdout
