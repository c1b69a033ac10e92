"""One kill of a part of the recipe, what it left behind, and the run after it.

The signal goes to all processes of the run, at a moment of one of these kinds:

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
import subprocess
import time
from pathlib import Path
from typing import NamedTuple

from tests.faults.recipe import LIMIT, Part, Recipe
from tests.faults.same import differences, newest, of_updates, to_set_aside
from tests.support.process_groups import is_alive, kill_group

DRAWS = 6  # a signal after the end is no kill: another moment is drawn
AGAIN = 0.25  # of the cases are killed once more while they go on
LONGEST_WRITE = 0.008  # seconds: a checkpoint of some MB
LOCKED = re.compile("another run works in ")


class Moment(NamedTuple):
    """When to kill: after some seconds, or where the hooks have counted."""

    text: str
    seconds: float = 0.0
    hooks: dict[str, str] | None = None


class Kill:
    """A case: `problems` runs it, and `when` then says when it killed."""

    def __init__(
        self, recipe: Recipe, part: Part, kind: str, sent: signal.Signals, rng: random.Random, folder: Path
    ) -> None:
        self.recipe, self.part, self.kind, self.sent, self.rng, self.folder = recipe, part, kind, sent, rng, folder
        self.work, self.logs = folder / "work", folder / "logs"
        self.when = ""
        self.seconds = part.seconds  # of the whole part, as far as is known

    def problems(self) -> str:
        """Kill a run and run again; what is wrong then, or nothing."""
        for _ in range(DRAWS):
            shutil.rmtree(self.folder, ignore_errors=True)
            self.folder.mkdir()
            shutil.copytree(self.part.before, self.work)
            moment = self.moment()
            self.when = moment.text
            process = self.killed(moment, alone=self.kind == "leader")
            if process.returncode:
                break
        else:
            return f"{DRAWS} runs ended before the signal came, or in spite of it"
        problem = self.beside(process) if self.kind == "leader" else self.ended(process)
        aside = to_set_aside(self.part.before) | to_set_aside(self.work)
        if not problem and self.rng.random() < AGAIN:
            self.when += ", and once more"
            process = self.killed(Moment("", seconds=self.rng.uniform(0, self.seconds)), alone=False)
            problem = self.ended(process)
            aside |= to_set_aside(self.work)
        return problem or self.again(aside)

    def moment(self) -> Moment:
        """Draw a moment of the case's kind."""
        if self.kind in ("instant", "leader"):
            seconds = self.rng.uniform(0, self.seconds)
            return Moment(f"{seconds:.2f} s of {self.seconds:.1f}", seconds=seconds)
        counted = self.part.commands if self.kind == "command" else self.part.changes
        if self.kind == "write":
            counted = {number: change for number, change in counted.items() if "checkpoint" in change}
        number = self.rng.choice(sorted(counted))
        delay = 0.0 if self.kind == "command" else self.rng.choice((0.0, self.rng.uniform(0, LONGEST_WRITE)))
        kind = "command" if self.kind == "command" else "change"
        hooks = {
            "FAULTS_KIND": kind,
            "FAULTS_AT": str(number),
            "FAULTS_DELAY": str(delay),
            "FAULTS_SIGNAL": str(int(self.sent)),
        }
        later = f" + {1000 * delay:.1f} ms" if delay else ""
        return Moment(f"{kind} {number}{later}: {counted[number][:80]}", hooks=hooks)

    def killed(self, moment: Moment, *, alone: bool) -> "subprocess.Popen[str]":
        """Start the part and send the signal, to the shell `alone` or to all; give its ended process."""
        logs = self.logs / "killed"
        process = self.recipe.start(self.part.stage, self.work, logs, **(moment.hooks or {}))
        begun = self.recipe.wait_for_message(process, self.part.stage, logs)
        if moment.hooks is None:
            time.sleep(max(0.0, begun + moment.seconds - time.monotonic()))
            if process.poll() is None:
                (os.kill if alone else os.killpg)(process.pid, self.sent)
            else:  # the machine is faster than it was
                self.seconds = min(self.seconds, time.monotonic() - begun)
        try:
            process.wait(LIMIT)
        except subprocess.TimeoutExpired:
            kill_group(process)
        return process

    def ended(self, process: "subprocess.Popen[str]", *, seconds: float = 60) -> str:
        """Wait for the children of a run that has ended; what is wrong."""
        end = time.monotonic() + seconds
        while is_alive(process.pid):
            if time.monotonic() > end:
                kill_group(process)
                return f"a process lived on for {seconds} s after {self.sent.name}"
            time.sleep(0.02)
        return ""

    def beside(self, process: "subprocess.Popen[str]") -> str:
        """Run again beside the children of a killed shell; it must say so, or not be disturbed by them."""
        self.when += ", beside its children" if is_alive(process.pid) else ", no child left"
        status, _ = self.recipe.finish(self.part.stage, self.work, self.logs / "beside")
        said = (self.logs / "beside" / "stderr").read_text()
        problem = self.ended(process, seconds=LIMIT)  # nobody told them to stop
        if status and not LOCKED.search(said):
            problem = f"run again beside the killed run's children it ended with {status}: {said[-1000:]}"
        return problem

    def again(self, aside: set[str]) -> str:
        """Run again to the end; what is wrong."""
        logs = self.logs / "again"
        updates = newest(self.work) if self.part.stage == "train" and not self.is_trained() else 0
        old = of_updates(self.work)
        complete = (self.work / "exported").exists()  # killed after its work, and it overwrites nothing
        status, _ = self.recipe.finish(self.part.stage, self.work, logs)
        said = (logs / "stderr").read_text()
        if status and not (complete and "exists already" in said):
            return f"run again it ended with {status}: {said[-1500:]}"
        if updates and f"@ {updates} updates)" not in said:
            return f"run again it did not go on from the newest checkpoint, of {updates} updates"
        if updates == newest(self.part.after):  # killed in its last save, and without another one fairseq removes none
            aside |= old
        found = differences(self.part.after, self.work, made_in=self.recipe.work, aside=aside)
        if not complete and (logs / "stdout").read_text().replace(str(self.work), "WORK") != self.part.stdout:
            found.append(f"it printed something else, see {logs / 'stdout'}")
        return "\n".join(found)

    def is_trained(self) -> bool:
        """Return whether the recipe has noted that the training is over."""
        return (self.work / "rope" / "trained").exists()
