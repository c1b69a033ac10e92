"""Kill the recipe at random moments, run it again: what it makes is what an undisturbed run makes.

A case takes a part of the recipe, the folder as it is before that part, a signal, KILL, INT and TERM in turn, and a
kind of moment; see `one_kill`.
"""

import os
import random
import shutil
import signal
import time
import traceback
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.faults.one_kill import Kill
from tests.faults.recipe import Recipe
from tests.faults.report import Report
from tests.support.environment import real_corpora
from tests.support.mirror import Ranges, make_archives, served

FULL, QUICK = 50, 4
SIGNALS = (signal.SIGKILL, signal.SIGINT, signal.SIGTERM)
PLAN = (  # part, kind of moment: any four in a row have a training
    ("train", "write"),
    ("fetch", "instant"),
    ("prepare", "command"),
    ("resume", "change"),
    ("average", "change"),
    ("train", "instant"),
    ("binarize", "change"),
    ("evaluate", "instant"),
    ("export", "change"),
    ("train", "leader"),
    ("score", "change"),
    ("fetch", "command"),
    ("results", "instant"),
    ("train", "write"),
    ("prepare", "instant"),
    ("resume", "change"),
    ("average", "instant"),
    ("evaluate", "command"),
    ("train", "change"),
    ("prepare", "change"),
    ("score", "instant"),
    ("export", "instant"),
    ("train", "write"),
    ("binarize", "leader"),
    ("fetch", "leader"),
    ("resume", "command"),
    ("evaluate", "leader"),
    ("train", "command"),
)


def run(work: Path, rng: random.Random, count: int, report: Report) -> None:
    """Kill `count` runs, one on each core at a time."""
    shutil.rmtree(work)
    mirror, undisturbed = work / "mirror", work / "undisturbed"
    mirror.mkdir(parents=True)
    undisturbed.mkdir()
    make_archives(mirror, real_corpora())
    first = rng.randrange(len(PLAN))
    plan = {n: (*PLAN[(first + n) % len(PLAN)], SIGNALS[(first + n) % 3]) for n in range(1, count + 1)}
    plan = {number: case for number, case in plan.items() if report.wanted(number)}
    with served(mirror, Slow) as (address, _):
        recipe = Recipe(undisturbed, address)
        recipe.rehearse({part for part, _, _ in plan.values()}, report.note)

        def one(number: int) -> None:
            part, kind, sent = plan[number]
            # children that live on are those of a shell that could do nothing about it
            sent = signal.SIGKILL if kind == "leader" else sent
            kill = Kill(recipe, recipe.parts[part], kind, sent, report.rng(number), work / f"{number:03}")
            try:
                problems = kill.problems()
            except Exception:  # the other cases are run all the same
                problems = traceback.format_exc()
            name = f"{number} {part} {sent.name.removeprefix('SIG')} at {kill.when}"
            if problems:
                report.failed(name, f"{problems}\nfiles: {kill.folder}")
            else:
                report.passed(name)
                shutil.rmtree(kill.folder)

        with ThreadPoolExecutor(min(len(os.sched_getaffinity(0)), 8)) as pool:
            list(pool.map(one, plan))


class Slow(Ranges):
    """A server that takes its time, so that a download can be killed."""

    def copyfile(self, source: object, outputfile: object) -> None:
        """Send a file bit by bit."""
        while block := source.read(1 << 14):
            outputfile.write(block)
            time.sleep(0.02)
