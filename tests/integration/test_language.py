"""The language model through fairseq's commands: train, resume, evaluate, read further than trained, continue text."""

import re
import shutil
from pathlib import Path

import pytest
import torch

from tests.support import ROOT
from tests.support.pretrained import COMMON, Pretrained, binarize
from tests.support.trained import call

USER_DIR = ("--user-dir", str(ROOT / "fairseq_rope"))
TASK = "--task language_modeling --tokens-per-sample 32"
TRAINING = f"""
    {TASK} --arch transformer_lm_rope --decoder-layers 2 --decoder-embed-dim 32 --decoder-ffn-embed-dim 64
    --decoder-attention-heads 2 --share-decoder-input-output-embed --max-tokens 600 --criterion cross_entropy
    --disable-validation {COMMON} --lr 3e-3
"""
HALFWAY, UPDATES = 33, 80  # no epoch ends halfway, where fairseq would save under another name


@pytest.fixture(scope="module")
def data(pretrained: Pretrained, tmp_path_factory: pytest.TempPathFactory) -> Path:
    lines = [line for pair in zip(*pretrained.texts.values(), strict=True) for line in pair]
    return binarize(lines[:400], tmp_path_factory.mktemp("language") / "data-bin")


def train(data: Path, folder: Path, *options: str) -> Path:
    call("fairseq_cli.train", str(data), *USER_DIR, "--save-dir", str(folder), *TRAINING.split(), *options)
    return folder / "checkpoint_last.pt"


@pytest.fixture(scope="module")
def model(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkpoint; beside it that of halfway."""
    often = ("--save-interval-updates", str(HALFWAY), "--max-update", str(UPDATES))
    return train(data, tmp_path_factory.mktemp("checkpoints"), *often)


def bits(data: Path, model: Path, *options: str) -> float:
    """Evaluate; return the loss."""
    task = () if "--tokens-per-sample" in options else TASK.split()
    command = ("fairseq_cli.eval_lm", str(data), *USER_DIR, "--path", str(model), "--gen-subset", "valid", "--cpu")
    done = call(*command, "--max-tokens", "600", *task, *options)
    return float(re.search(r"Loss \(base 2\): ([\d.]+)", (done.stdout + done.stderr).decode())[1])


def test_it_learns_and_reads_further_than_trained_with_a_scaling_that_is_set_then(
    data: Path, model: Path, tmp_path: Path
):
    trained = bits(data, model)
    assert trained < 2.5  # of a vocabulary of 32 words, 5 bits
    ntk = "{'rope_scaling': 'ntk', 'rope_scaling_factor': 4, 'max_target_positions': 128}"
    longer = ("--tokens-per-sample", "128", "--task", "language_modeling", "--model-overrides")
    plain, scaled = (bits(data, model, *longer, text) for text in ("{'max_target_positions': 128}", ntk))
    assert plain != scaled
    state = torch.load(model, map_location="cpu", weights_only=True)
    for name, value in dict(rope_scaling="ntk", rope_scaling_factor="4", max_target_positions=128).items():
        setattr(state["cfg"]["model"], name, value)
    torch.save(state, tmp_path / "rebuilt.pt")
    assert bits(data, tmp_path / "rebuilt.pt", *longer[:-1]) == scaled
    window = bits(data, model, "--context-window", "16")
    assert window < trained  # each word has 16 before it at least
    with pytest.raises(AssertionError, match=r"--model-overrides: rope_base must stay 10000\.0, as \S+ was trained"):
        bits(data, model, "--model-overrides", "{'rope_base': 500.0}")


def test_a_resumed_training_ends_as_one_that_was_never_stopped(data: Path, model: Path, tmp_path: Path):
    (halfway,) = model.parent.glob(f"checkpoint_*_{HALFWAY}.pt")
    shutil.copy(halfway, tmp_path / "checkpoint_last.pt")
    resumed = train(data, tmp_path, "--max-update", str(UPDATES))
    states = [torch.load(path, map_location="cpu")["model"] for path in (resumed, model)]
    assert all(torch.equal(states[0][name], states[1][name]) for name in states[1])


def test_it_continues_a_text(data: Path, model: Path):
    command = ("fairseq_cli.interactive", str(data), *USER_DIR, "--path", str(model), *TASK.split(), "--cpu")
    found = call(*command, "--beam", "2", "--max-len-b", "9", stdin=b"the dog likes\n").stdout.decode()
    text = re.search(r"^H-0\t[-\d.]+\t(.*)$", found, re.MULTILINE)[1]
    assert re.fullmatch(r"the dog likes \w+ .*", text)
