"""Damaged files through the commands that read them: a named error or the unchanged result, never another one.

Only text that has no checksum anywhere, such as a log that somebody passes on, may give another result: it is taken for
what it says. There, too, nothing crashes and nothing is half-written.
"""

import hashlib
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import torch

import fairseq_rope  # noqa: F401  lets torch load fairseq's types
from fairseq_rope.checkpoints.files import load_checkpoint
from tests.faults.damage import damage
from tests.faults.prepared import GENERATE, TRAIN, prepare
from tests.faults.report import Report
from tests.support.forked import Done, ForkServer

FULL, QUICK = 300, 30
CHECKPOINTS = 4  # of the small training: 1, 2, best, last
_TRANSLATE = ["-s", "en", "-t", "de", "--cpu", "--beam", "2", "--max-len-b", "20", "--input", "raw/test.en"]
_TOKENS = ["--tokenizer", "moses", "--bpe", "subword_nmt", "--bpe-codes", "text/codes"]


def _stdout(folder: Path, done: Done) -> object:
    return done.stdout


def _sentences(folder: Path, done: Done) -> object:
    """What fairseq-generate says of sentences, in their order, without the times."""
    return sorted(line for line in done.stdout.splitlines() if line[:2] in (b"S-", b"T-", b"H-", b"D-", b"P-", b"Ge"))


def _file(name: str) -> Callable[[Path, Done], object]:
    return lambda folder, done: (folder / name).read_bytes()


def _trained(folder: Path, done: Done) -> object:
    """The weights after the resumed training, and how far it went."""
    state = torch.load(folder / "rope" / "checkpoint_last.pt", weights_only=True)
    weights = b"".join(tensor.numpy().tobytes() for tensor in state["model"].values())
    return hashlib.sha256(weights).hexdigest(), state["optimizer_history"][-1]["num_updates"]


def _resumable(folder: Path, done: Done) -> object:
    """Whether fairseq-train can go on, and nothing was lost: what is broken has another name."""
    load_checkpoint(folder / "rope" / "checkpoint_last.pt")
    return len(list((folder / "rope").glob("checkpoint*"))) >= CHECKPOINTS


def _prepared(folder: Path, done: Done) -> object:
    """What passed as the text and data that were prepared."""
    return [_contents(folder / name) for name in ("text", "data-bin")]


class Command(NamedTuple):
    """A command with the files that it reads.

    Attributes:
        module: of `python -m`, or a program.
        argv: its options.
        reads: the files to damage, one at a time, as patterns.
        result: what must not change, taken from the folder and what the command printed.
        writes: the files it makes or changes when it ends well, as patterns.
        knows: something holds checksums of the files; without it they are taken for what they say.
    """

    module: str
    argv: list[str | Path]
    reads: list[str]
    result: Callable[[Path, Done], object] = _stdout
    writes: tuple[str, ...] = ()
    knows: bool = True


_DICTIONARIES = ["data-bin/dict.en.txt", "data-bin/dict.de.txt"]
_BINARIZED = ["data-bin/test.en-de.*.bin", "data-bin/test.en-de.*.idx"]
_TRANSLATOR = "fairseq_rope.tools.translate"
COMMANDS = {
    "translate": Command(
        _TRANSLATOR,
        ["data-bin", "--path", "model.pt", *_TRANSLATE, *_TOKENS],
        ["model.pt", *_DICTIONARIES, "text/codes", "manifest.json"],
    ),
    "translate with CTranslate2": Command(
        _TRANSLATOR,
        ["model", "--engine", "ctranslate2", *_TRANSLATE, *_TOKENS],
        ["model/*"],
    ),
    "average": Command(
        "fairseq_rope.tools.average",
        ["--inputs", "rope/checkpoint1.pt", "rope/checkpoint2.pt", "--output", "averaged.pt"],
        ["rope/checkpoint1.pt", "rope/checkpoint2.pt"],
        _file("averaged.pt"),
        ("averaged.pt",),
    ),
    "export": Command(
        "fairseq_rope.export.ctranslate2",
        ["--path", "model.pt", "--data", "data-bin", "--output", "new", "--copy-files", "text/codes"],
        ["model.pt", *_DICTIONARIES, "text/codes"],
        _file("new/SHA256SUMS"),
        ("new", "new/*"),
    ),
    "fairseq-train, resumed": Command(
        "fairseq_cli.train",
        [*TRAIN, "--max-epoch", "3"],
        ["rope/checkpoint_last.pt"],
        _trained,
        ("rope/checkpoint*.pt",),
    ),
    "fairseq-generate": Command("fairseq_cli.generate", GENERATE, ["model.pt"], _sentences),
    "score, gzipped": Command(
        "fairseq_rope.tools.score",
        ["--sys", "test.de.gz", "--ref", "raw/test.de", "--target-lang", "de"],
        ["test.de.gz"],
    ),
    "repair": Command(
        "fairseq_rope.tools.repair",
        ["rope"],
        ["rope/checkpoint_last.pt", "rope/checkpoint2.pt"],
        _resumable,
        ("rope/checkpoint*",),
    ),
    "check_manifest": Command(
        "fairseq_rope_data.check_manifest",
        ["."],
        ["data-bin/train.en-de.*.bin", "data-bin/test.en-de.*.idx", "text/codes", "manifest.json"],
        _prepared,
    ),
    # text that is taken for what it says
    "translate, no record": Command(
        _TRANSLATOR,
        ["data-bin", "--path", "legacy.pt", *_TRANSLATE, *_TOKENS],
        ["legacy.pt", *_DICTIONARIES, "text/codes"],
        knows=False,
    ),
    "fairseq-generate, no record": Command("fairseq_cli.generate", GENERATE, _BINARIZED, _sentences, knows=False),
    "score": Command(
        "fairseq_rope.tools.score",
        ["--log", "rope/generate-test.log", "--target-lang", "de"],
        ["rope/*.log"],
        knows=False,
    ),
    "results": Command(
        "fairseq_rope.tools.results", ["."], ["rope/score-test.json", "rope/train.log", "rope/hyp-test.de"], knows=False
    ),
    "sgm": Command("fairseq_rope_data.sgm", ["test.sgm"], ["test.sgm"], knows=False),
}


class Damages(NamedTuple):
    """What all cases share: whole files, the server, and the result of each command without damage."""

    prepared: Path
    work: Path
    server: ForkServer
    report: Report
    whole: dict[str, object]


def run(work: Path, rng: random.Random, count: int, report: Report) -> None:
    """Damage `count` files, each file of each command in its turn."""
    with ForkServer(plugin=True) as server:
        report.note("make one of each file")
        damages = Damages(prepare(work, server), work, server, report, {})
        for name in COMMANDS:
            damages.whole[name] = _undamaged(name, damages)
        targets = [
            (name, path.relative_to(damages.prepared))
            for name, command in COMMANDS.items()
            for pattern in command.reads
            for path in sorted(damages.prepared.glob(pattern))
        ]
        for number in range(1, count + 1):
            if report.wanted(number):
                # a prime step: few cases, too, are of all commands
                name, file = targets[number * 23 % len(targets)]
                _case(number, name, file, damages)


def _undamaged(name: str, damages: Damages) -> object:
    command = COMMANDS[name]
    folder = _copy(command, damages.prepared, damages.work / "whole")
    done = damages.server.call(command.module, command.argv, cwd=folder)
    if done.status:
        raise RuntimeError(f"{command.module} without damage: {done.text}")
    result = command.result(folder, done)
    shutil.rmtree(folder)
    return result


def _copy(command: Command, prepared: Path, folder: Path) -> Path:
    shutil.copytree(prepared, folder)
    if not command.knows:
        (folder / "manifest.json").unlink()
    return folder


def _case(number: int, name: str, file: Path, damages: Damages) -> None:
    rng, command = damages.report.rng(number), COMMANDS[name]
    folder = _copy(command, damages.prepared, damages.work / str(number))
    others = sorted(path for path in damages.prepared.rglob("*") if path.is_file() and path.stat().st_size)
    kind, content = damage(rng, (folder / file).read_bytes(), rng.choice(others).read_bytes())
    (folder / file).write_bytes(content)
    before = _contents(folder)
    done = damages.server.call(command.module, command.argv, cwd=folder)
    problem, outcome = "", "a named error"
    if done.timed_out or done.status < 0:
        problem = "it hangs" if done.timed_out else f"signal {-done.status}"
    elif done.status:
        problem = _bad_error(command, file, done) or _left_behind(before, _contents(folder), ())
    else:
        changed = command.result(folder, done) != damages.whole[name]
        outcome = "another result" if changed else "the same result"
        problem = "ANOTHER RESULT, without a word" if changed and command.knows else ""
        problem = problem or _left_behind(before, _contents(folder), command.writes)
    words = f"{number} {name}, {file}: {kind}"
    if problem:
        damages.report.failed(words, f"{problem}\nstatus {done.status}, kept in {folder}\n{done.text[-1500:]}")
    else:
        damages.report.passed(words, outcome)
        shutil.rmtree(folder)


def _contents(folder: Path) -> dict[str, str]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def _bad_error(command: Command, file: Path, done: Done) -> str:
    """Return what is wrong with an error; fairseq's own commands show where they were, ours have one line."""
    text = done.text.strip()
    last = text.rpartition("\n")[2]
    if command.module.startswith("fairseq_cli."):
        return "" if last else "no message"
    if "Traceback" in text:
        return "a traceback"
    if ": error: " not in last:
        return "no error of one line"
    names = (file.name, str(file.parent), file.stem)
    return "" if any(name in last for name in names) else f"the error does not name {file}"


def _left_behind(before: dict[str, str], after: dict[str, str], writes: tuple[str, ...]) -> str:
    wrong = [
        name
        for name in sorted(before.keys() | after.keys())
        if before.get(name) != after.get(name) and not any(Path(name).match(pattern) for pattern in writes)
    ]
    return f"changed, left behind or lost: {', '.join(wrong)}" if wrong else ""
