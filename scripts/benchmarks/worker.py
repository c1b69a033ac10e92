"""A process that holds one model and repeats one measurement when told to.

A process of its own, because peak memory belongs to a process; and one that waits, so that two models are measured in
turn under the same conditions.
"""

import json
import logging
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SCRIPTS = Path(__file__).resolve().parent.parent


@dataclass
class Repetition:
    """What one repetition did, and how long it took."""

    seconds: float
    tokens: int
    sentences: int = 0


class Worker:
    """The other end: starts a worker for `spec` and asks it for repetitions."""

    def __init__(self, spec: dict[str, Any]):
        """Start it; `spec` is what `measurement` takes."""
        command = [sys.executable, "-m", "benchmarks.worker", json.dumps(spec)]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, cwd=SCRIPTS, stdin=pipe, stdout=pipe, text=True)

    def ask(self, question: str) -> Any:
        """Send a question; give the answer.

        Raises:
            RuntimeError: the worker died; its own error stands on stderr.
        """
        stdin, stdout = self.process.stdin, self.process.stdout
        if stdin is None or stdout is None:
            raise RuntimeError("the worker has no pipes")
        stdin.write(f"{question}\n")
        stdin.flush()
        line = stdout.readline()
        if not line:
            raise RuntimeError(f"a worker died with status {self.process.wait()}: {self.process.args}")
        return json.loads(line)

    def close(self) -> None:
        """End it."""
        if self.process.stdin is not None:
            self.process.stdin.close()
        self.process.wait()


def measurement(spec: dict[str, Any]) -> Callable[[], Repetition]:
    """Build what `spec["kind"]` names; each call of it is a repetition."""
    from benchmarks import length, train

    return {"train": train.measurement, "length": length.measurement}[spec["kind"]](spec)


def peak_memory(device: str) -> int:
    """Give this process's peak memory in bytes: of the GPU, as allocated by torch, or resident on the host."""
    import torch

    if device == "cuda":
        return torch.cuda.max_memory_allocated()
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def main() -> None:
    """Answer on stdout: `rep` with a repetition, `peak` with the peak memory."""
    spec = json.loads(sys.argv[1])
    answers, sys.stdout = sys.stdout, sys.stderr  # what fairseq prints is not an answer
    logging.disable()
    repeat = measurement(spec)
    for question in sys.stdin:
        if question.strip() == "peak":
            answer: Any = peak_memory(spec["device"])
        else:
            repetition = repeat()
            answer = [repetition.seconds, repetition.tokens, repetition.sentences]
        print(json.dumps(answer), file=answers, flush=True)


def timed(work: Callable[[], None], device: str) -> float:
    """Give the seconds that `work` takes, on a GPU until it has really ended."""
    import torch

    if device == "cuda":
        torch.cuda.synchronize()
    start = time.perf_counter()
    work()
    if device == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
