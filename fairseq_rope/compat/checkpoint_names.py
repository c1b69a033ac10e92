"""The names of checkpoints: those that fairseq's save_checkpoint gives, and those that `repair` sets aside."""

import re
from collections.abc import Iterable
from pathlib import Path

BEST, LAST = "checkpoint_best.pt", "checkpoint_last.pt"

# an epoch, an epoch and an update, the best, the last, and one of --keep-best-checkpoints by its score
_STEM = r"checkpoint(?:\d+|_\d+_\d+|_best|_last|\.best_.+_-?\d+\.\d+)"
_FAIRSEQ = re.compile(_STEM + r"\.pt")
_SUFFIXED = re.compile(_STEM + r".*\.pt")  # with any --checkpoint-suffix, such as -shard0
_SET_ASIDE = re.compile(_STEM + r".*\.pt\.(?:broken|older)(?:-\d+)?")


def checkpoints_in(folder: Path) -> list[Path]:
    """Return what fairseq saved in `folder` without a --checkpoint-suffix, by name; averages have other names."""
    return sorted(path for path in folder.iterdir() if _FAIRSEQ.fullmatch(path.name))


def training_files(names: Iterable[str]) -> list[str]:
    """Return those of `names` that hold a training: checkpoints with any --checkpoint-suffix, and those set aside."""
    return sorted(name for name in names if _SUFFIXED.fullmatch(name) or is_set_aside(name))


def is_set_aside(name: str) -> bool:
    """Return whether `repair` gave this name to a checkpoint that fairseq shall not read."""
    return _SET_ASIDE.fullmatch(name) is not None


def aside_name(path: Path, why: str) -> Path:
    """Return a free name beside `path` for setting it aside: `path.why`, `path.why-2` and so on; `why` as above."""
    free, number = path.with_name(f"{path.name}.{why}"), 1
    while free.exists() or free.is_symlink():
        number += 1
        free = path.with_name(f"{path.name}.{why}-{number}")
    return free
