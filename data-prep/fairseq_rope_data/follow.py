"""Run a command after each validation and each score in a work folder, as long as a recipe is at work.

    python -m fairseq_rope_data.follow $$ runs/mine python -m fairseq_rope.tools.report runs/mine --output report.html

$$ is the process that starts it, a recipe. When that has ended or was killed, what came last is seen too. It takes
no more than a twentieth of the time: what comes sooner waits. What it says is left out, also when it fails.
"""

import contextlib
import os
import subprocess
import time
from pathlib import Path

from fairseq_rope_data import cli
from fairseq_rope_data.errors import run

SECONDS = 2.0  # between two looks
PAUSES = 20  # times as long as the command took


def progress(work: Path) -> dict[Path, int]:
    """Return how many validations the log of each run has, if any, and the size of each report of scores."""
    found = {}
    for path in (*work.glob("*/train.log"), *work.glob("*/score-*.json")):
        with contextlib.suppress(FileNotFoundError):  # a recipe removes some
            found[path] = path.read_bytes().count(b" | valid on ") if path.suffix == ".log" else path.stat().st_size
    return {path: number for path, number in found.items() if number}


def follow(parent: int, work: Path, command: list[str]) -> None:
    """Run the command whenever there is progress, until the parent process has ended; what comes last is not missed."""
    seen = progress(work)
    next_start = 0.0
    while True:
        alive = os.getppid() == parent  # asked before the look, or what comes between the two would be missed
        now = progress(work)
        if now != seen and (not alive or time.monotonic() >= next_start):
            start, seen = time.monotonic(), now
            subprocess.run(command, check=False, stdin=subprocess.DEVNULL, capture_output=True)
            next_start = start + PAUSES * (time.monotonic() - start)
        if not alive:
            return
        time.sleep(SECONDS)


def main() -> None:
    parser = cli.parser(__doc__, "follow", allow_abbrev=False)
    parser.add_argument("parent", type=int, metavar="PID", help="the process that starts this one")
    parser.add_argument("work", type=Path, metavar="WORK", help="work folder of a recipe")
    parser.add_argument("command", metavar="COMMAND", help="what is run")
    options, arguments = parser.parse_known_args()
    follow(options.parent, options.work, [options.command, *arguments])


if __name__ == "__main__":
    run("follow", main)
