"""Run a command and measure it with all processes that it starts (Linux)."""

import os
import subprocess
import tempfile
import threading
import time
from pathlib import Path
from typing import NamedTuple

INTERVAL = 0.2  # seconds between looks at the memory
_TICK = os.sysconf("SC_CLK_TCK")


class Measurement(NamedTuple):
    """Time in seconds, memory in bytes.

    Args:
        wall: from start to end.
        cpu: of all processes together.
        main_cpu: of the first process alone, what more cores can't share.
        peak: the largest sum over all processes of their proportional set size (PSS: a page that n processes share
            counts 1/n in each), looked at every INTERVAL.
    """

    wall: float
    cpu: float
    main_cpu: float
    peak: int

    def __add__(self, other: object) -> "Measurement":
        """Join two steps that run one after the other."""
        if not isinstance(other, Measurement):
            return NotImplemented
        wall, cpu, main_cpu = (mine + its for mine, its in zip(self[:3], other[:3], strict=True))
        return Measurement(wall, cpu, main_cpu, max(self.peak, other.peak))


def measure(command: list[str], *, stdin: Path | None = None, stdout: Path | None = None) -> Measurement:
    """Run a command; what it prints on stderr is shown only when it fails.

    Raises:
        subprocess.CalledProcessError: it failed.
    """
    with (
        (stdin or Path(os.devnull)).open("rb") as source,
        (stdout or Path(os.devnull)).open("wb") as target,
        tempfile.TemporaryFile() as errors,
    ):
        start = time.monotonic()
        process = subprocess.Popen(command, stdin=source, stdout=target, stderr=errors)
        watcher = _Watcher(process.pid)
        watcher.start()
        # wait4 and not process.wait(), which doesn't tell the CPU time
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.monotonic() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        watcher.ended.set()
        watcher.join()
        if process.returncode:
            errors.seek(0)
            raise subprocess.CalledProcessError(process.returncode, command, stderr=errors.read())
    return Measurement(wall, usage.ru_utime + usage.ru_stime, watcher.main_cpu, watcher.peak)


class _Watcher(threading.Thread):
    """Looks at a process and its descendants until `ended` is set."""

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self.pid = pid
        self.ended = threading.Event()
        self.main_cpu = 0.0
        self.peak = 0

    def run(self) -> None:
        """Look every INTERVAL."""
        while not self.ended.wait(INTERVAL):
            stats = _stats()
            if self.pid in stats:
                self.main_cpu = stats[self.pid][1]
            self.peak = max(self.peak, sum(_pss(pid) for pid in _descendants(self.pid, stats)))


def _stats() -> dict[int, tuple[int, float]]:
    """Return the parent and the CPU seconds of every process."""
    stats = {}
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            try:
                # the program's name, in brackets, may hold spaces
                fields = Path(entry.path, "stat").read_text(errors="replace").rpartition(")")[2].split()
            except OSError:  # it has ended
                continue
            stats[int(entry.name)] = int(fields[1]), (int(fields[11]) + int(fields[12])) / _TICK
    return stats


def _descendants(pid: int, stats: dict[int, tuple[int, float]]) -> list[int]:
    """Return a process and all below it."""
    tree = [pid]
    for parent in tree:
        tree += [child for child, (its_parent, _) in stats.items() if its_parent == parent]
    return tree


def _pss(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:  # it has ended
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:")), 0)
