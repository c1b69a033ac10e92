"""Beam search through the command line fairseq-generate: tokens and sentences a second."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from benchmarks.setup import MODELS, training_options
from benchmarks.worker import Repetition

# the last line of a fairseq-generate: its own clock, which counts the search and not the start
_TRANSLATED = re.compile(r"Translated ([\d,]+) sentences \(([\d,]+) tokens\) in ([\d.]+)s")
BATCHES = {"1": ["--batch-size", "1"], "32": ["--batch-size", "32"], "tokens": ["--max-tokens", "4096"]}


class Generation:
    """A fairseq-generate that can be repeated; has the face of a Worker."""

    def __init__(self, spec: dict[str, Any]):
        """Prepare the command; without a checkpoint in `spec` one of random weights is made, and lengths are forced."""
        checkpoint, forced = spec.get("checkpoint"), []
        if checkpoint is None:
            checkpoint = _untrained(spec)
            steps = str(spec["steps"])
            forced = ["--max-len-a", "0", "--max-len-b", steps, "--min-len", steps]
        device = ["--cpu"] if spec["device"] == "cpu" else []
        options = [
            str(spec["data"]),
            "--path",
            str(checkpoint),
            "--gen-subset",
            "test",
            "--beam",
            "4",
            "--lenpen",
            "0.6",
        ]
        options += MODELS[spec["model"]][:2] if spec["model"] == "rope" else []
        options += ["--required-batch-size-multiple", "1", *BATCHES[spec["batch"]], *forced, *device]
        self.command = [sys.executable, "-m", "fairseq_cli.generate", *options]
        if spec["number_type"] == "fp16":
            self.command.append("--fp16")
        self.peak = 0

    def ask(self, question: str) -> Any:
        """Answer as a worker does: `rep` and `peak` (the largest so far; on the host only)."""
        if question == "peak":
            return self.peak
        process = subprocess.Popen(self.command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        output = process.stdout.read() if process.stdout else ""
        _, status, usage = os.wait4(process.pid, 0)
        found = _TRANSLATED.search(output)
        if status or not found:
            raise RuntimeError(f"{' '.join(self.command)}\n{output[-2000:]}")
        self.peak = max(self.peak, usage.ru_maxrss * 1024)
        sentences, tokens = (int(found[i].replace(",", "")) for i in (1, 2))
        repetition = Repetition(float(found[3]), tokens, sentences)
        return [repetition.seconds, repetition.tokens, repetition.sentences]

    def close(self) -> None:
        """Nothing runs between repetitions."""


def _untrained(spec: dict[str, Any]) -> Path:
    folder = Path(spec["data"]).parent / f"untrained-{spec['model']}-{spec['size']}"
    checkpoint = folder / "checkpoint_last.pt"
    if not checkpoint.exists():
        options = training_options(spec["model"], spec["size"], Path(spec["data"]), 512, "fp32", "cpu")
        options.remove("--no-save")
        command = [sys.executable, "-m", "fairseq_cli.train", *options, "--max-update", "1", "--disable-validation"]
        subprocess.run(
            [*command, "--no-epoch-checkpoints", "--save-dir", str(folder)],
            check=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
    return checkpoint
