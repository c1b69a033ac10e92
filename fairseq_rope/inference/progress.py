"""What `translate` prints on stderr: a line for each note, a progress bar on a terminal, and a summary."""

import os
import stat
import sys
import time
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from tqdm import tqdm

from fairseq_rope_data.streams import tell


class Progress:
    """Counts lines and bytes as they pass, and prints notes without spoiling the bar.

    Args:
        inputs: the files that will be read, for the bar's total; `-` is stdin.
        show_bar: show a progress bar, if stderr is a terminal.
    """

    def __init__(self, inputs: Sequence[str], *, show_bar: bool) -> None:
        hidden = not (show_bar and sys.stderr.isatty())
        self.bar: Any = tqdm(total=_total_bytes(inputs), unit="B", unit_scale=True, disable=hidden, file=sys.stderr)
        self.waiting: deque[int] = deque()  # sizes of the lines that are read and not yet translated
        self.started = time.monotonic()
        self.lines = 0
        self.notes = 0

    def note(self, number: int, text: str) -> None:
        """Print what was replaced or cut in a line."""
        self.notes += 1
        with tqdm.external_write_mode(file=sys.stderr):
            tell(f"translate: line {number:,}: {text}")

    def reading(self, lines: Iterable[bytes | None]) -> Iterator[bytes | None]:
        """Yield raw lines, remembering their sizes, and None where a document ends."""
        for line in lines:
            if line is not None:
                self.waiting.append(len(line))
            yield line

    def written(self) -> None:
        """Count the next line as done: translations come in the order of the lines."""
        self.lines += 1
        self.bar.update(self.waiting.popleft())

    def close(self) -> None:
        """End the bar and print the summary."""
        self.bar.close()
        seconds = time.monotonic() - self.started
        notes = f"; notes above on what was replaced or cut: {self.notes:,}" if self.notes else ""
        rate = f"{self.lines / max(seconds, 1e-9):,.1f} lines a second"
        tell(f"translate: {self.lines:,} lines in {seconds:,.1f} s, {rate}{notes}")


def _total_bytes(inputs: Sequence[str]) -> int | None:
    """Return the size of all inputs; None, a bar without an end, if one is a pipe or a terminal."""
    total = 0
    for name in inputs:
        status = os.fstat(sys.stdin.fileno()) if name == "-" else os.stat(name)
        if not stat.S_ISREG(status.st_mode):
            return None
        total += status.st_size
    return total
