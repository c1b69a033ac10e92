"""A training that has made --max-update updates changes nothing when it is started again."""

import hashlib
from pathlib import Path

import torch

from tests.integration.test_training import train
from tests.support.trained import Trained


def digests(folder: Path) -> dict[str, str]:
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}


def test_a_finished_training_makes_no_update_more(trained: Trained, tmp_path: Path):
    options = ("--max-tokens", "500", "--disable-validation", "--save-dir", str(tmp_path))
    train(trained.data, "--max-update", "2", *options)
    before = digests(tmp_path)
    train(trained.data, "--max-update", "2", *options)
    assert before == digests(tmp_path)
    train(trained.data, "--max-update", "3", *options)
    state = torch.load(tmp_path / "checkpoint_last.pt", weights_only=True)
    assert state["optimizer_history"][-1]["num_updates"] == 3
