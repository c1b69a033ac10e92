"""WMT14's recipe in stages, each from a copy of the folder in which the ones before it are done."""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path

from tests.faults.same import differences, to_set_aside
from tests.support.process_groups import kill_group
from tests.support.wmt14 import CONF, STAGES, command, settings

HOOKS = Path(__file__).parent / "hooks"
LIMIT = 900  # seconds that a stage may take
# eight updates within one epoch: fairseq goes on bit-identically from the middle of an epoch. Checkpoints are of some
# MB, so that writing one takes milliseconds.
SETTINGS = """
SIZE=(--encoder-layers 1 --encoder-embed-dim 192 --encoder-ffn-embed-dim 256 --encoder-attention-heads 4
  --decoder-layers 1 --decoder-embed-dim 192 --decoder-ffn-embed-dim 256 --decoder-attention-heads 4)
MODEL_ROPE+=("${SIZE[@]}")
BATCH_TOKENS=1536
JOBS=2
"""
# a part of a stage -> the stage, and the recipe's first command of the part
PARTS = {
    "binarize": ("prepare", "binarize"),
    "score": ("evaluate", "step *score_set *"),
    "results": ("evaluate", "python -m fairseq_rope_data results *"),
}
# the training after one that was killed while it copied its second checkpoint to checkpoint_last.pt
RESUME = "resume"
EXPORT = "export"


@dataclass(frozen=True)
class Part:
    """A stage, or the end of one, and what it did when nobody disturbed it."""

    name: str
    stage: str
    before: Path  # the work folder in which it starts
    after: Path  # and the one that it leaves
    stdout: str
    seconds: float  # from its first message on
    commands: dict[int, str]  # number -> command of the shell, without those that every stage begins with
    changes: dict[int, str]  # number -> change of a file by Python


class Recipe:
    """The recipe with the server at `address`; its undisturbed run is in `folder`."""

    def __init__(self, folder: Path, address: str) -> None:
        self.folder, self.address = folder, address
        self.conf = folder / "conf.env"
        self.conf.write_text(CONF + SETTINGS)
        self.work = folder / "work"
        self.parts: dict[str, Part] = {}

    def command(self, stage: str, work: Path) -> list[str]:
        """Return the command line of a stage."""
        if stage == EXPORT:
            model = ["--path", str(work / "rope" / "averaged.pt"), "--data", str(work / "data-bin")]
            return [sys.executable, "-m", "fairseq_rope.export.ctranslate2", *model, "--output", str(work / "exported")]
        return command(self.conf, stage)

    def start(self, stage: str, work: Path, logs: Path, **hooks: str) -> subprocess.Popen[str]:
        """Start a stage in a process group of its own; `logs` gets what it prints and what the hooks record."""
        logs.mkdir(parents=True, exist_ok=True)
        for name in ("commands", "changes"):
            (logs / name).write_text("")
        options = settings(work, self.address)
        options["env"] |= {
            "BASH_ENV": str(HOOKS / "commands.bash"),
            "PYTHONPATH": os.pathsep.join(filter(None, (str(HOOKS), os.environ.get("PYTHONPATH")))),
            "FAULTS_COMMANDS": str(logs / "commands"),
            "FAULTS_CHANGES": str(logs / "changes"),
            **hooks,
        }
        with (logs / "stdout").open("w") as out, (logs / "stderr").open("w") as err:
            return subprocess.Popen(
                self.command(stage, work),
                **options,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                text=True,
                start_new_session=True,
            )

    def finish(self, stage: str, work: Path, logs: Path, **hooks: str) -> tuple[int, float]:
        """Run a stage to its end; its exit status, -1 after LIMIT seconds, and the seconds since its first message."""
        process = self.start(stage, work, logs, **hooks)
        begun = self.wait_for_message(process, stage, logs)
        try:
            status = process.wait(LIMIT)
        except subprocess.TimeoutExpired:
            status = -1
        kill_group(process)
        return status, time.monotonic() - begun

    def wait_for_message(self, process: subprocess.Popen[str], stage: str, logs: Path) -> float:
        """Wait until a stage says that it begins, after what all stages begin with; the time of it."""
        # the export says nothing before its end
        while stage != EXPORT and process.poll() is None and not (logs / "stderr").stat().st_size:
            time.sleep(0.005)
        return time.monotonic()

    def rehearse(self, parts: Collection[str], note: Callable[[str], None]) -> None:
        """Run the stages undisturbed, to the last of `parts`, and then those of `parts` that begin within a stage.

        Raises:
            RuntimeError: a stage failed, or the end of one came out otherwise than the whole.
        """
        work = self.work
        work.mkdir()
        stages = (*STAGES, EXPORT)
        wanted = {"train" if part == RESUME else PARTS.get(part, (part,))[0] for part in parts}
        for stage in stages[: max(map(stages.index, wanted)) + 1]:
            inner = {part: pattern for part, (of, pattern) in PARTS.items() if of == stage}
            shutil.copytree(work, self.folder / "before" / stage)
            snapshots = "\n".join(f"{pattern}\t{self.folder / 'before' / part}" for part, pattern in inner.items())
            self.parts[stage] = self._rehearsed(stage, stage, work, note, FAULTS_SNAPSHOTS=snapshots)
            shutil.copytree(work, self.folder / "after" / stage)
            if stage == "train" and RESUME in parts:
                self._interrupt()
                inner[RESUME] = ""
            for part in inner.keys() & set(parts):
                copy = self.folder / part
                shutil.copytree(self.folder / "before" / part, copy)
                self.parts[part] = self._rehearsed(part, stage, copy, note)
                aside = to_set_aside(self.folder / "before" / part)
                if problems := differences(self.folder / "after" / stage, copy, made_in=work, aside=aside):
                    raise RuntimeError(f"{stage} begun from {part} on gives another result: {problems}")
                shutil.rmtree(copy)

    def _interrupt(self) -> None:
        """Make the folder before RESUME: at 4 updates, with a part of checkpoint_last.pt."""
        shutil.rmtree(self.work)
        shutil.copytree(self.folder / "before" / "train", self.work)
        last = [i for i, change in self.parts["train"].changes.items() if change == "open /rope/checkpoint_last.pt"]
        hooks = {"FAULTS_KIND": "change", "FAULTS_AT": str(last[1]), "FAULTS_DELAY": "0", "FAULTS_SIGNAL": "9"}
        self.finish("train", self.work, self.folder / "logs" / "interrupted", **hooks)
        os.truncate(self.work / "rope" / "checkpoint_last.pt", 5_000_000)
        shutil.move(self.work, self.folder / "before" / RESUME)
        shutil.copytree(self.folder / "after" / "train", self.work)

    def _rehearsed(self, name: str, stage: str, work: Path, note: Callable[[str], None], **hooks: str) -> Part:
        logs = self.folder / "logs" / name
        status, seconds = self.finish(stage, work, logs, **hooks)
        if status:
            raise RuntimeError(f"{stage} ended with status {status}: {(logs / 'stderr').read_text()[-2000:]}")
        commands = [line.split("\t", 1)[1] for line in (logs / "commands").read_text().splitlines()]
        first = next((i for i, line in enumerate(commands, 1) if line.startswith("lock_work")), 0)
        changes = dict(enumerate((logs / "changes").read_text().splitlines(), 1))
        note(f"{name} undisturbed: {seconds:.1f} s, {len(commands) - first} commands, {len(changes)} changes of files")
        return Part(
            name,
            stage,
            before=self.folder / "before" / name,
            after=self.folder / "after" / stage,
            stdout=(logs / "stdout").read_text().replace(str(work), "WORK"),
            seconds=seconds,
            commands={i: line for i, line in enumerate(commands, 1) if i > first},
            changes=changes,
        )
