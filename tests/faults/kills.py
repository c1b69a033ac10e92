"""Kill the recipe at random instants, run it again: what it makes is what an undisturbed run makes.

A case takes a part of the recipe, the folder as it is before it, and a signal: KILL, INT and TERM in turn. The signal
goes to all processes of the run, at one of these moments:

instant   any, by the clock
command   before some command of the shell
change    before some change of a file by Python, or a few milliseconds later
write     likewise, of changes of checkpoints
leader    at an instant, to the shell alone; its children live on, and the recipe is run again beside them
"""

import os
import random
import re
import shutil
import signal
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from tests.faults.recipe import LIMIT, PARTS, Part, Recipe, end_group
from tests.faults.report import Report
from tests.faults.same import differences, to_set_aside
from tests.recipes.mirror import Ranges, make_archives, served
from tests.trained import ROOT

FULL, QUICK = 50, 4
SIGNALS = (signal.SIGKILL, signal.SIGINT, signal.SIGTERM)
PLAN = (  # part, moment: any four in a row have one of the training
    ("train", "write"),
    ("fetch", "instant"),
    ("prepare", "command"),
    ("average", "change"),
    ("train", "instant"),
    ("binarise", "change"),
    ("evaluate", "instant"),
    ("export", "change"),
    ("train", "leader"),
    ("score", "change"),
    ("fetch", "command"),
    ("results", "instant"),
    ("train", "write"),
    ("prepare", "instant"),
    ("average", "instant"),
    ("evaluate", "command"),
    ("train", "change"),
    ("prepare", "change"),
    ("score", "instant"),
    ("export", "instant"),
    ("train", "command"),
    ("binarise", "leader"),
    ("fetch", "leader"),
    ("evaluate", "leader"),
)
DRAWS = 6  # an instant after the end is none: another is drawn
LOCKED = re.compile(r"another run works in ")


@dataclass
class Moment:
    """When to kill: after some seconds, or at a number of the hooks' counts."""

    text: str
    seconds: float = 0.0
    hooks: dict[str, str] | None = None


def run(work: Path, rng: random.Random, count: int, report: Report) -> None:
    """Kill `count` runs, two at a time."""
    data = Path(os.environ.get("FAIRSEQ_ROPE_DATA", ROOT.parent / "shared" / "data"))
    shutil.rmtree(work)
    mirror, folder = work / "mirror", work / "undisturbed"
    mirror.mkdir(parents=True)
    folder.mkdir()
    make_archives(mirror, data)
    first = rng.randrange(len(PLAN))
    cases = {n: (PLAN[(first + n) % len(PLAN)], SIGNALS[(first + n) % 3]) for n in range(1, count + 1)}
    cases = {number: case for number, case in cases.items() if report.wanted(number)}
    with served(mirror, Slow) as (address, _):
        recipe = Recipe(folder, address)
        recipe.rehearse({part for (part, _), _ in cases.values()} & PARTS.keys(), report.note)

        def one(number: int) -> None:
            (part, moment), sent = cases[number]
            sent = signal.SIGKILL if moment == "leader" else sent
            case = Case(recipe, recipe.parts[part], moment, sent, report.rng(number), work / f"{number:03}")
            problems = case.problems()
            name = f"{number} {part} {sent.name.removeprefix('SIG')} at {case.when}"
            if problems:
                report.failed(name, f"{problems}\nfiles: {case.folder}")
            else:
                report.passed(name)
                shutil.rmtree(case.folder)

        with ThreadPoolExecutor(min(len(os.sched_getaffinity(0)), 8)) as pool:
            list(pool.map(one, cases))


class Slow(Ranges):
    """A server that takes its time, so that a download can be killed."""

    def copyfile(self, source: object, outputfile: object) -> None:
        """Send a file bit by bit."""
        while block := source.read(1 << 14):
            outputfile.write(block)
            time.sleep(0.02)


class Case:
    """One kill, what it left behind, and the run after it."""

    def __init__(
        self, recipe: Recipe, part: Part, moment: str, sent: signal.Signals, rng: random.Random, folder: Path
    ) -> None:
        self.recipe, self.part, self.moment, self.sent, self.rng, self.folder = recipe, part, moment, sent, rng, folder
        self.work, self.logs = folder / "work", folder / "logs"
        self.when = ""
        self.longest = part.seconds

    def problems(self) -> str:
        """Kill a run and run again; what is wrong then, or nothing."""
        for _ in range(DRAWS):
            shutil.rmtree(self.folder, ignore_errors=True)
            self.folder.mkdir()
            shutil.copytree(self.part.before, self.work)
            moment = self.draw()
            self.when = moment.text
            if self.kill(moment):
                break
        else:
            return f"{DRAWS} runs ended before the signal came, or in spite of it"
        aside = to_set_aside(self.work)
        if self.moment == "leader" and (problem := self.beside()):
            return problem
        if self.rng.random() < 0.25:  # killed again while it goes on
            self.when += ", and once more"
            self.kill(Moment("", seconds=self.rng.uniform(0, self.part.seconds)))
            aside |= to_set_aside(self.work)
        return self.again(aside)

    def draw(self) -> Moment:
        """Draw a moment."""
        if self.moment in ("instant", "leader"):
            seconds = self.rng.uniform(0, self.longest)
            return Moment(f"{seconds:.2f} s of {self.part.seconds:.1f}", seconds=seconds)
        counted = self.part.commands if self.moment == "command" else self.part.changes
        if self.moment == "write":
            counted = {i: change for i, change in counted.items() if "checkpoint" in change}
        at = self.rng.choice(sorted(counted))
        # reading a checkpoint's 9 MB from the cache and writing them takes some milliseconds
        delay = 0.0 if self.moment == "command" else self.rng.choice((0.0, self.rng.uniform(0, 0.008)))
        kind = "command" if self.moment == "command" else "change"
        hooks = {"FAULTS_KIND": kind, "FAULTS_AT": str(at), "FAULTS_DELAY": str(delay)}
        hooks["FAULTS_SIGNAL"] = str(int(self.sent))
        later = f" + {1000 * delay:.1f} ms" if delay else ""
        return Moment(f"{kind} {at}{later}: {counted[at][:80]}", hooks=hooks)

    def kill(self, moment: Moment) -> bool:
        """Start the part and send the signal; whether it ended by it, and all its processes with it."""
        process = self.recipe.start(self.part.stage, self.work, self.logs / "killed", **(moment.hooks or {}))
        begun = self.recipe.wait_for_message(process, self.part.stage, self.logs / "killed")
        if moment.hooks:
            process.wait(LIMIT)
        else:
            time.sleep(max(0.0, begun + moment.seconds - time.monotonic()))
            if process.poll() is None:
                send = os.kill if self.moment == "leader" and not self.when.endswith("more") else os.killpg
                send(process.pid, self.sent)
            else:
                self.longest = min(self.longest, time.monotonic() - begun)
        status = process.wait(LIMIT)
        if self.moment != "leader" or self.when.endswith("more"):
            wait_for_group(process.pid)
            end_group(process)
        else:
            self.group = process
        return status != 0

    def beside(self) -> str:
        """Run again beside the children that live on; it must say so, or not be disturbed by them."""
        alive = is_alive(self.group.pid)
        status, _ = self.recipe.finish(self.part.stage, self.work, self.logs / "beside")
        said = (self.logs / "beside" / "stderr").read_text()
        wait_for_group(self.group.pid)
        end_group(self.group)
        self.when += ", beside its children" if alive else ", no child left"
        if status == 0 or LOCKED.search(said):
            return ""
        return f"run again beside the killed run's children it ended with {status}: {said[-1000:]}"

    def again(self, aside: set[str]) -> str:
        """Run again to the end; what is wrong."""
        logs = self.logs / "again"
        status, _ = self.recipe.finish(self.part.stage, self.work, logs)
        if status:
            return f"run again it ended with {status}: {(logs / 'stderr').read_text()[-1500:]}"
        found = differences(self.part.after, self.work, made_in=self.recipe.work, aside=aside)
        if (logs / "stdout").read_text().replace(str(self.work), "WORK") != self.part.stdout:
            found.append(f"it printed something else, see {logs / 'stdout'}")
        return "\n".join(found)


def wait_for_group(group: int, seconds: float = 120) -> None:
    """Wait until no process of it lives."""
    wait_until(lambda: not is_alive(group), seconds)


def is_alive(group: int) -> bool:
    """Tell whether a process group has a process."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def wait_until(true: Callable[[], bool], seconds: float) -> None:
    """Wait until something holds, but not for ever."""
    end = time.monotonic() + seconds
    while not true() and time.monotonic() < end:
        time.sleep(0.02)
