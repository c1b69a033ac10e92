"""What the harness found: progress on stderr, a table and the failures at the end, the exit status."""

import random
import sys
import threading
import time
from collections import Counter
from typing import TextIO

SHOWN = 2000  # characters of a failure's detail


class Report:
    """The outcome of every case, from any thread; `begin` says which part the next ones belong to."""

    def __init__(self, seed: int, *, only: int | None = None, progress: TextIO = sys.stderr) -> None:
        self.seed, self.only, self.part = seed, only, ""
        self.rows: list[tuple[str, str, bool, str]] = []  # part, case, passed, detail
        self._progress, self._lock = progress, threading.Lock()
        self._seconds: dict[str, float] = {}
        self._started = time.monotonic()

    def begin(self, part: str) -> None:
        """The cases from here on belong to `part`."""
        self.end()
        self.part = part
        self._seconds[part] = 0.0

    def end(self) -> None:
        """The part is over: its time stops."""
        now = time.monotonic()
        if self.part:
            self._seconds[self.part] += now - self._started
        self._started, self.part = now, ""

    def wanted(self, number: int) -> bool:
        """Whether case `number` is to be run: `--case` asks for one alone."""
        return self.only in (None, number)

    def rng(self, number: int | str) -> random.Random:
        """Random numbers of case `number` of this part, the same whatever other cases there are."""
        return random.Random(f"{self.seed} {self.part} {number}")

    def passed(self, case: str, detail: str = "") -> None:
        """Count a case as passed; `case` begins with its number."""
        self._add(case, True, detail)

    def failed(self, case: str, detail: str) -> None:
        """Count a case as failed; `detail` says what was expected and what was got."""
        self._add(case, False, detail)

    def note(self, text: str) -> None:
        """Show a line of progress."""
        with self._lock:
            print(f"{self.part}: {text}", file=self._progress, flush=True)

    def _add(self, case: str, passed: bool, detail: str) -> None:
        with self._lock:
            self.rows.append((self.part, case, passed, detail))
            outcome = "ok" if passed else "FAILED"
            print(
                f"{self.part} {case}: {outcome}{': ' if detail else ''}{detail}"[:SHOWN],
                file=self._progress,
                flush=True,
            )

    @property
    def status(self) -> int:
        """The exit status: 0 when there were cases and all passed."""
        return int(not self.rows or any(not passed for _, _, passed, _ in self.rows))

    def summary(self) -> str:
        """The failures with what repeats them, and a table of the parts."""
        self.end()
        lines = []
        for part, case, passed, detail in self.rows:
            if not passed:
                lines += [f"FAILED {part} {case}", *(f"    {line}" for line in detail[:SHOWN].splitlines())]
                lines.append(f"    repeat: python -m tests.faults --seed {self.seed} --case {case.split()[0]} {part}")
        counts = Counter((part, passed) for part, _, passed, _ in self.rows)
        rows = [("part", "cases", "passed", "failed", "seconds")]
        for part, seconds in self._seconds.items():
            passed, failed = counts[part, True], counts[part, False]
            rows.append((part, str(passed + failed), str(passed), str(failed), f"{seconds:.0f}"))
        width = max(len(row[0]) for row in rows)
        lines += ["", *(f"{name:<{width}}" + "".join(f"{cell:>9}" for cell in cells) for name, *cells in rows)]
        return "\n".join([*lines, f"seed {self.seed}"])
