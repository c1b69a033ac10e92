"""Whether two work folders hold the same, but for times and places."""

import os
import re
import zipfile
from collections.abc import Collection
from pathlib import Path
from typing import Any

import torch

import fairseq_rope  # noqa: F401  torch then loads fairseq's checkpoints

# the seconds and the words a second of a training, which differ each time
CLOCKS = ("metrics", "previous_training_time")
SENTENCE = re.compile(rb"(?:[STHDP]-\d+\t|Generate ).*")


def differences(expected: Path, found: Path, *, made_in: Path, aside: Collection[str] = ()) -> list[str]:
    """Name what differs in two folders; what is in `aside` may have been set aside under that name, and numbered.

    Paths of the folders are the same, and the one of `made_in`, in which what is expected was made.
    """
    wanted, there = files(expected), files(found)
    problems = [f"{name} is missing" for name in sorted(wanted - there)]
    for name in sorted(there - wanted):
        if re.sub(r"-\d+$", "", name) not in aside:
            problems.append(f"{name} is left over")
    for name in sorted(wanted & there):
        one, other = (content(folder / name, (found, made_in)) for folder in (expected, found))
        if difference := first_difference(one, other):
            problems.append(f"{name} differs{difference}")
    return problems


def files(folder: Path) -> set[str]:
    """The files of a folder, less those of tensorboard, which have the time of a start in their names, and the page.

    A process beside the recipe writes the page, of what there is at that moment, also when the recipe is killed.
    """
    found = (path.relative_to(folder) for path in folder.rglob("*") if path.is_file())
    return {str(path) for path in found if "tensorboard" not in path.parts and not path.name.startswith("report.html")}


def content(path: Path, folders: Collection[Path]) -> Any:
    """What must be the same in both: all of a file but its times and the paths of `folders`."""
    if path.suffix == ".pt":
        state = torch.load(path, map_location="cpu", weights_only=True)
        state["extra_state"] = {k: v for k, v in (state.get("extra_state") or {}).items() if k not in CLOCKS}
        state["optimizer_history"] = state["optimizer_history"][-1:]  # an entry for each start of the training
        state["cfg"] = str(state.get("cfg"))
        for folder in folders:
            state["cfg"] = state["cfg"].replace(str(folder), "WORK")
        return state
    data = path.read_bytes()
    for folder in folders:
        data = data.replace(os.fsencode(folder), b"WORK")
    # options and times; who has it; when it was started and on what
    if path.name in ("preprocess.log", "lock", "provenance.jsonl") or path.suffix == ".lock":
        return b""
    if path.name == "train.log":  # of a run that was killed and the one that went on
        return re.findall(rb"num_updates\D+(\d+)", data)[-1:] + re.findall(rb"done training", data)[-1:]
    if path.name.startswith("generate-") and path.suffix == ".log":
        return SENTENCE.findall(data)
    return data


def first_difference(one: Any, other: Any) -> str:
    """Where two values differ, as `[model][encoder.version]: ...`, or nothing."""
    if isinstance(one, torch.Tensor) and isinstance(other, torch.Tensor):
        if one.dtype == other.dtype and torch.equal(one, other):
            return ""
        same_shape = one.shape == other.shape
        return f": tensors, by {(one.double() - other.double()).abs().max():.3g}" if same_shape else ": shapes"
    if isinstance(one, dict) and isinstance(other, dict):
        if one.keys() != other.keys():
            return f": keys {set(one) ^ set(other)}"
        return next((f"[{k}]{d}" for k in one if (d := first_difference(one[k], other[k]))), "")
    if isinstance(one, list | tuple) and isinstance(other, list | tuple) and len(one) == len(other):
        pairs = enumerate(zip(one, other, strict=True))
        return next((f"[{i}]{d}" for i, (a, b) in pairs if (d := first_difference(a, b))), "")
    return "" if one == other else f": {str(one)[:200]!r} and {str(other)[:200]!r}"


def to_set_aside(folder: Path) -> set[str]:
    """The names under which checkpoints may be set aside: broken ones, and a best or last one that is older."""
    paths = [path for path in folder.rglob("checkpoint*") if path.suffix in (".pt", ".tmp")]
    names = {path: "broken" for path in paths if not is_whole(path)}
    for copy in (*folder.rglob("checkpoint_best.pt"), *folder.rglob("checkpoint_last.pt")):
        if copy not in names and updates_of(copy) < newest(folder):
            names[copy] = "older"
    return {f"{path.relative_to(folder)}.{why}" for path, why in names.items()}


def of_updates(folder: Path) -> set[str]:
    """The names of the checkpoints of single updates, of which fairseq keeps the newest at the end of a save."""
    return {str(path.relative_to(folder)) for path in folder.rglob("checkpoint_*_*.pt")}


def newest(folder: Path) -> int:
    """The number of updates from which a training can go on."""
    return max((updates_of(path) for path in folder.rglob("checkpoint*.pt") if is_whole(path)), default=0)


def updates_of(path: Path) -> int:
    """The number of updates at which a checkpoint was written."""
    return torch.load(path, map_location="cpu", weights_only=True)["optimizer_history"][-1]["num_updates"]


def is_whole(path: Path) -> bool:
    """Return whether a checkpoint is there to its end, with its checksums, and torch reads it.

    torch loses an interrupt in the midst of `torch.save`, and ends a file that has everything but its right header.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            if archive.testzip() is not None:
                return False
        torch.load(path, map_location="cpu", weights_only=True)
    except (zipfile.BadZipFile, RuntimeError):
        return False
    return True
