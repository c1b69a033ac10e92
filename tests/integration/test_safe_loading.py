"""Trusted checkpoints load with torch's protection on, and a malicious one is refused by name."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from tests.support import ROOT
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
    done = subprocess.run(
        [sys.executable, "-m", module, *options], cwd=ROOT, capture_output=True, check=False, text=True
    )
    assert done.returncode != 0
    assert "posix.system" in done.stderr
    assert not (tmp_path / "pwned").exists() and not (tmp_path / "average.pt").exists()


def test_nothing_switches_the_protection_off():
    sources = [*ROOT.glob("fairseq_rope/**/*.py"), *ROOT.glob("scripts/**/*.sh"), *ROOT.glob("data-prep/**/*")]
    texts = {
        path: path.read_text(encoding="utf-8") for path in sources if path.is_file() and path.suffix in (".py", ".sh")
    }
    switches = ("weights_only=False)", "TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD=")
    assert texts and not [path for path, text in texts.items() for switch in switches if switch in text]
