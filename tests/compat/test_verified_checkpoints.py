"""fairseq's own loading of checkpoints: a changed weight is told, whatever command reads it."""

import re
import zipfile
from pathlib import Path

import pytest
import torch
from fairseq import checkpoint_utils

from fairseq_rope.compat.verified_checkpoints import DamagedCheckpoint, verify_checkpoints
from tests.support.checkpoint_files import fairseq_checkpoint

WEIGHTS = torch.arange(1000.0)
STATE = {**fairseq_checkpoint({"w": WEIGHTS}), "cfg": None}


def changed(path: Path, record: str) -> None:
    """Flip one bit in the content of a record; all else stays."""
    with zipfile.ZipFile(path) as archive:
        start = path.read_bytes().index(archive.read(record), archive.getinfo(record).header_offset)
    content = bytearray(path.read_bytes())
    content[start + 100] ^= 1
    path.write_bytes(content)


def test_a_changed_weight_is_told(tmp_path: Path) -> None:
    path = tmp_path / "model.pt"
    torch.save(STATE, path)
    loaded = checkpoint_utils.load_checkpoint_to_cpu(str(path))
    assert torch.equal(loaded["model"]["w"], WEIGHTS)
    changed(path, "model/data/0")
    # torch itself takes it
    assert not torch.equal(torch.load(path, weights_only=True)["model"]["w"], WEIGHTS)
    message = f"cannot load {path}: it is corrupt, the checksum of model/data/0 is wrong"
    with pytest.raises(DamagedCheckpoint, match=re.escape(message)):
        checkpoint_utils.load_checkpoint_to_cpu(str(path))


def test_the_older_form_has_no_checksums_and_loads(tmp_path: Path) -> None:
    torch.save(STATE, tmp_path / "old.pt", _use_new_zipfile_serialization=False)
    assert torch.equal(checkpoint_utils.load_checkpoint_to_cpu(str(tmp_path / "old.pt"))["model"]["w"], WEIGHTS)


def test_a_damaged_directory_is_told(tmp_path: Path) -> None:
    path = tmp_path / "model.pt"
    torch.save(STATE, path)
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(DamagedCheckpoint, match=r"model\.pt: it is truncated or corrupt \("):
        checkpoint_utils.load_checkpoint_to_cpu(str(path))


def test_it_is_applied_once() -> None:
    before = checkpoint_utils.load_checkpoint_to_cpu
    verify_checkpoints()
    assert checkpoint_utils.load_checkpoint_to_cpu is before
