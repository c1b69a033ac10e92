"""Every row of bad_input.txt, run as its command: the message, the status, and nothing left behind or changed.

Python's commands are forks of a process that has imported everything, the recipes' are bash. `--table` prints the rows
in markdown, as docs/faults.md has them:

    python -m tests.faults.bad_input --table
"""

import fnmatch
import hashlib
import importlib.util
import os
import random
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import groupby
from pathlib import Path
from queue import SimpleQueue
from typing import NamedTuple

from tests.faults.bad_files import make
from tests.faults.report import Report
from tests.support import ROOT
from tests.support.environment import environment
from tests.support.forked import Done, ForkServer

WORKERS = 2
SETTING = re.compile("[A-Z0-9_]+=")
# as a user types it -> module or file
MODULES = {
    "export": "fairseq_rope.export.ctranslate2",
    "fairseq-train": "fairseq_cli.train",
    "fairseq-generate": "fairseq_cli.generate",
}


class Bad(NamedTuple):
    """A row of the table."""

    command: str
    input: str
    arguments: str
    message: str
    status: int = 1
    leaves: str = ""


def rows() -> Iterator[Bad]:
    """Read the table."""
    command = ""
    for line in Path(__file__).with_suffix(".txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            command = line.strip("[]")
        elif line and not line.startswith("#"):
            text, arguments, message, *rest = line.split(" | ")
            yield Bad(command, text, arguments, message, *map(int, rest[:1]), *rest[1:])


CASES = list(rows())
FULL = QUICK = len(CASES)


def run(work: Path, rng: random.Random, count: int, report: Report) -> None:
    """Run each row; there is nothing random in them."""
    shutil.rmtree(work)
    work.mkdir()
    report.note("train and export a tiny model")
    files = make(work / "files")
    before = contents(work / "files")
    servers: SimpleQueue[ForkServer] = SimpleQueue()
    for _ in range(WORKERS):
        servers.put(ForkServer(plugin=True))

    def one(number: int, bad: Bad) -> None:
        folder = work / str(number)
        folder.mkdir()
        done = shell(bad, files, folder) if bad.command.endswith(".sh") else python(bad, files, folder, servers)
        name = f"{number} {bad.command}: {bad.input}"
        problems = faults(bad, done, folder)
        report.failed(name, "\n".join(problems)) if problems else report.passed(name, last_line(done))

    rows = [(number, bad) for number, bad in enumerate(CASES, 1) if report.wanted(number)]
    with ThreadPoolExecutor(WORKERS) as pool:
        list(pool.map(lambda row: one(*row), rows))
    while not servers.empty():
        servers.get().__exit__()
    after = contents(work / "files")
    changed = sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))
    if changed:
        report.failed("0 inputs", f"changed by some command: {', '.join(changed)}")


def faults(bad: Bad, done: Done, folder: Path) -> list[str]:
    """What is wrong with how a command ended."""
    problems = []
    if done.timed_out:
        problems.append("it did not end")
    elif done.status != bad.status:
        problems.append(f"the status must be {bad.status}, but is {done.status}")
    if not pattern(bad.message).search(done.text):
        problems.append(f"it must say {bad.message!r}")
    if "Traceback" in done.text and not bad.command.startswith("fairseq-"):
        problems.append("it shows a traceback")
    left = [str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()]
    problems += [f"{name} is left behind" for name in left if not fnmatch.fnmatch(name, bad.leaves)]
    return [*problems, f"stderr: {done.text[-800:]}"] if problems else []


def pattern(message: str) -> re.Pattern[str]:
    """A message's pattern: ... is anything."""
    return re.compile(".*".join(map(re.escape, message.split("..."))), re.DOTALL)


def last_line(done: Done) -> str:
    """The message itself, which a shell's own words may follow."""
    lines = done.text.strip().splitlines() or [""]
    return next((line for line in reversed(lines) if "error: " in line), lines[-1])


def python(bad: Bad, files: dict[str, str], folder: Path, servers: "SimpleQueue[ForkServer]") -> Done:
    """Run a program of Python as a fork, or by a shell where its streams are not ordinary."""
    module = MODULES.get(bad.command) or f"fairseq_rope.tools.{bad.command}"
    if bad.command.endswith(".py"):
        module = str(script(bad.command))
    elif importlib.util.find_spec(f"fairseq_rope_data.{bad.command}"):
        module = f"fairseq_rope_data.{bad.command}"
    if re.search("[<>]", bad.arguments):
        program = shlex.join([sys.executable, *(["-m"] if "/" not in module else []), module])
        return bash(["-c", f"exec {program} {filled(bad, files)}"], folder)
    server = servers.get()
    try:
        return server.call(module, shlex.split(filled(bad, files)), cwd=folder, timeout=60)
    finally:
        servers.put(server)


def shell(bad: Bad, files: dict[str, str], folder: Path) -> Done:
    """Run a recipe."""
    words = shlex.split(filled(bad, files))
    settings = dict(word.split("=", 1) for word in words if SETTING.match(word))
    if "WORK" in settings:
        settings["WORK"] = str(folder / settings["WORK"])
    return bash([str(script(bad.command)), *(word for word in words if not SETTING.match(word))], folder, **settings)


def bash(arguments: list[str], folder: Path, **settings: str) -> Done:
    """Run bash."""
    options = {"cwd": folder, "env": environment(folder, **settings), "stdin": subprocess.DEVNULL}
    try:
        done = subprocess.run(["bash", *arguments], **options, capture_output=True, timeout=120, check=False)
    except subprocess.TimeoutExpired as error:
        return Done(-9, error.stdout or b"", error.stderr or b"", timed_out=True)
    return Done(done.returncode, done.stdout, done.stderr, timed_out=False)


def script(name: str) -> Path:
    """Where a script is."""
    return next(path for path in (ROOT / "scripts" / name, ROOT / "data-prep" / name) if path.is_file())


def filled(bad: Bad, files: dict[str, str]) -> str:
    """The arguments with the files' names filled in."""
    return re.sub(r"\{([^}]+)\}", lambda match: files[match[1]], bad.arguments)


def contents(folder: Path) -> dict[str, str]:
    """The checksum of each file."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def table() -> str:
    """The rows in markdown, a table for each command."""
    lines = []
    for command, group in groupby(CASES, key=lambda bad: bad.command):
        lines += ["", f"### {command}", "", "| bad input | message | status | may stay |", "|---|---|---|---|"]
        lines += [f"| {bad.input} | `{bad.message}` | {bad.status} | {bad.leaves} |" for bad in group]
    return "\n".join(lines[1:])


if __name__ == "__main__":
    if sys.argv[1:] != ["--table"]:
        sys.exit(f"the argument must be --table, but got: {' '.join(sys.argv[1:])}{os.linesep}")
    print(table())
