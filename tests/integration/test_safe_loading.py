"""Trusted checkpoints load with torch's protection on, and a malicious one is refused by name."""

import os
import pickle
import re
import zipfile
from pathlib import Path

import numpy as np
import pytest
import torch

from fairseq_rope.compat.safe_globals import allow_fairseq_checkpoints
from tests.support import ROOT, forked
from tests.support.trained import Trained


class Malicious:
    """Unpickled without protection, it makes a file."""

    def __init__(self, path: Path):
        self.path = path

    def __reduce__(self):
        return os.system, (f"touch {self.path}",)


@pytest.mark.parametrize(
    "module", ["fairseq_cli.generate", "fairseq_rope.tools.translate", "fairseq_rope.tools.average"]
)
def test_a_malicious_checkpoint_is_refused_and_runs_nothing(trained: Trained, tmp_path: Path, module: str):
    state = torch.load(trained.checkpoint)
    state["extra_state"]["surprise"] = Malicious(tmp_path / "pwned")
    checkpoint = tmp_path / "checkpoint1.pt"
    torch.save(state, checkpoint)
    options = {
        "fairseq_cli.generate": [str(trained.data), "--path", str(checkpoint), "--user-dir", "fairseq_rope", "--cpu"],
        "fairseq_rope.tools.translate": [str(trained.data), "--path", str(checkpoint), "--cpu"],
        "fairseq_rope.tools.average": ["--inputs", str(checkpoint), "--output", str(tmp_path / "average.pt")],
    }[module]
    done = forked.run(module, *options)
    assert done.returncode != 0
    assert "posix.system" in done.stderr
    assert not (tmp_path / "pwned").exists() and not (tmp_path / "average.pt").exists()


def test_arrays_are_trusted_and_what_they_hold_is_not(tmp_path: Path):
    allow_fairseq_checkpoints()
    counts = {"counts": np.array([3, 1]), "sums": np.array([0.5])}
    torch.save(counts, tmp_path / "meters.pt")
    loaded = torch.load(tmp_path / "meters.pt")
    assert all(
        np.array_equal(loaded[name], array) and loaded[name].dtype == array.dtype for name, array in counts.items()
    )
    torch.save(np.array([Malicious(tmp_path / "pwned")], dtype=object), tmp_path / "objects.pt")
    with pytest.raises(pickle.UnpicklingError):
        torch.load(tmp_path / "objects.pt")
    assert not (tmp_path / "pwned").exists()


@pytest.mark.parametrize("core", [b"numpy.core.", b"numpy._core."])
def test_arrays_of_numpy_1_and_2_are_read_by_each_other(tmp_path: Path, core: bytes):
    allow_fairseq_checkpoints()
    torch.save(np.array([3, 1]), tmp_path / "array.pt")
    with zipfile.ZipFile(tmp_path / "array.pt") as saved, zipfile.ZipFile(tmp_path / "other.pt", "w") as other:
        for name in saved.namelist():
            other.writestr(name, re.sub(rb"numpy\._?core\.", core, saved.read(name)))
    assert torch.load(tmp_path / "other.pt").tolist() == [3, 1]


def test_nothing_switches_the_protection_off():
    sources = [*ROOT.glob("fairseq_rope/**/*.py"), *ROOT.glob("scripts/**/*.sh"), *ROOT.glob("data-prep/**/*")]
    texts = {
        path: path.read_text(encoding="utf-8") for path in sources if path.is_file() and path.suffix in (".py", ".sh")
    }
    switches = ("weights_only=False)", "TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD=")
    assert texts and not [path for path, text in texts.items() for switch in switches if switch in text]
