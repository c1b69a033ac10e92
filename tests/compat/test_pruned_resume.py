"""A training that keeps some layers of the model it begins with is resumed by the same command."""

from argparse import Namespace
from pathlib import Path

import pytest
import torch
from fairseq import checkpoint_utils

from tests.support.pretrained import MLM, SIZES, Pretrained, train_here


def test_a_resumed_training_of_kept_layers_ends_as_one_that_was_never_stopped(pretrained: Pretrained, tmp_path: Path):
    start = ("--finetune-from-model", str(pretrained.checkpoint), "--encoder-layers-to-keep", "1")
    settings = (*MLM.split(), *SIZES.split(), "--disable-validation", *start)
    train_here(pretrained.data, tmp_path / "whole", *settings, "--max-update", "4")
    for updates in ("2", "4"):
        train_here(pretrained.data, tmp_path / "resumed", *settings, "--max-update", updates)
    whole, resumed = (torch.load(tmp_path / name / "checkpoint_last.pt") for name in ("whole", "resumed"))
    for state in (whole, resumed):
        assert state["cfg"]["model"].encoder_layers == 1 and state["cfg"]["model"].encoder_layers_to_keep is None
    assert resumed["optimizer_history"][-1]["num_updates"] == 4
    assert whole["model"].keys() == resumed["model"].keys()
    assert all(torch.equal(resumed["model"][name], weight) for name, weight in whole["model"].items())


@pytest.mark.parametrize(
    ("encoder", "decoder", "expected"),
    [
        ("1,3", "0,2", {"encoder": [1, 3], "decoder": [0, 2]}),  # of four each
        ("0,1,2,9", "2,3", {"encoder": [0, 1, 2, 3], "decoder": [2, 3]}),  # as many as there are
        ("1,3", None, {"encoder": [1, 3], "decoder": [0, 1, 2, 3]}),
        (None, "2", {"encoder": [0, 1, 2, 3], "decoder": [2]}),
        (None, None, {"encoder": [0, 1, 2, 3], "decoder": [0, 1, 2, 3]}),
    ],
)
def test_each_stack_is_pruned_once(encoder: str | None, decoder: str | None, expected: dict[str, list[int]]):
    weights = {f"{stack}.layers.{n}.fc1.bias": n for stack in expected for n in range(4)}
    options = Namespace(arch="transformer", encoder_layers_to_keep=encoder, decoder_layers_to_keep=decoder)
    pruned = checkpoint_utils.prune_state_dict(weights, options)
    for stack, layers in expected.items():
        assert [pruned[f"{stack}.layers.{n}.fc1.bias"] for n in range(len(layers))] == layers
    assert len(pruned) == sum(map(len, expected.values()))
    assert options.encoder_layers_to_keep is None and options.decoder_layers_to_keep is None
