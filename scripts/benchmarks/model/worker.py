"""A process that holds one model and repeats one measurement when told to.

A process of its own, because peak memory belongs to a process; and one that waits, so that two models are measured in
turn under the same conditions.
"""

import contextlib
import importlib
import itertools
import json
import logging
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any, TextIO

from benchmarks.model import clock, tricks
from benchmarks.model.spec import Repetition, Spec

SCRIPTS = Path(__file__).resolve().parents[2]
# fairseq on today's torch and hydra warns of its own calls at every start, torch's profiler reports its own
_QUIET = {"PYTHONWARNINGS": "ignore", "KINETO_LOG_LEVEL": "6"}
OUT_OF_MEMORY, NO_EFFECT = "out of memory", "no effect"  # reasons that are no fault of the benchmark's


class FailedError(Exception):
    """A measurement that could not be made; its text is the reason, in a few words for a table."""


class Worker:
    """The other end: starts a worker, which builds its model, and asks it for repetitions.

    Args:
        spec: what it measures.
    """

    def __init__(self, spec: Spec):
        path = os.pathsep.join(filter(None, (str(SCRIPTS), os.environ.get("PYTHONPATH"))))
        self.process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.model.worker", spec.dumps()],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": path, **_QUIET, **tricks.environment(spec.without)},
        )
        self.spec = spec

    def wait(self) -> None:
        """Wait until its model is built; the first repetition tells when it could not be."""
        with contextlib.suppress(FailedError):
            self._read()

    def repeat(self) -> Repetition:
        """Measure once.

        Raises:
            FailedError: memory is too small for it, the trick that is switched off would do nothing here, or the
                worker ended; its own words stand on stderr.
        """
        return Repetition(**self._ask("repeat"))

    def peak(self) -> int:
        """Return its peak memory so far, in bytes."""
        return int(self._ask("peak")["bytes"])

    def free(self) -> None:
        """Let it give back memory that it does not need before its next repetition."""
        self._ask("free")

    def close(self) -> None:
        """End it, whatever it is doing."""
        self.process.terminate()
        self.process.communicate()

    def _ask(self, question: str) -> dict[str, Any]:
        with contextlib.suppress(BrokenPipeError):
            print(question, file=self.process.stdin, flush=True)
        answer = self._read()
        if isinstance(answer, str):
            raise FailedError(answer)
        return answer

    def _read(self) -> Any:
        line = self.process.stdout.readline() if self.process.stdout else ""
        if line:
            return json.loads(line)
        status = self.process.wait()
        if status == -signal.SIGKILL:
            # the system kills for memory
            return OUT_OF_MEMORY
        raise FailedError(f"ended with status {status}")


def measurement(spec: Spec) -> Callable[[], Repetition]:
    """Build what `spec.kind` names; each call of it is a repetition."""
    # only that kind: a stock model trains without the plugin; it translates with it, for torch refuses its checkpoint
    repeat: Callable[[], Repetition] = importlib.import_module(f"benchmarks.model.{spec.kind}").measurement(spec)
    return repeat


def main() -> None:
    """Build the model, then answer each line on stdin; a line of JSON on stdout for each."""
    spec = Spec.loads(sys.argv[1])
    answers, sys.stdout = sys.stdout, sys.stderr  # what fairseq prints is not an answer
    # before fairseq chooses another handler: all it logs goes nowhere
    logging.basicConfig(handlers=[logging.NullHandler()])
    if spec.memory and spec.device == "cpu":
        clock.limit_memory(spec.memory)
    with tricks.without(spec.without) as has_effect:
        _serve(spec, answers, has_effect)


def _serve(spec: Spec, answers: TextIO, has_effect: Callable[[], bool]) -> None:
    repeat: Callable[[], Repetition] | None = None
    for question in itertools.chain(["build"], map(str.strip, sys.stdin)):
        answer: dict[str, Any] | str = {}
        try:
            if question in ("build", "repeat"):
                repeat = repeat or measurement(spec)
            if question == "repeat" and repeat:
                repetition = repeat()
                answer = asdict(repetition) if has_effect() else NO_EFFECT
            elif question == "peak":
                answer = {"bytes": clock.peak_memory(spec.device)}
        except (MemoryError, RuntimeError) as error:
            if not clock.is_out_of_memory(error):
                raise
            answer = OUT_OF_MEMORY
        if question == "free" or answer == OUT_OF_MEMORY:
            clock.free_memory(spec.device)
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
