"""Folders of a training, as fairseq leaves them: checkpoints, earlier ones, and what breaks them."""

import hashlib
import time
from collections import Counter
from pathlib import Path

import torch

from tests.support.checkpoint_files import fairseq_checkpoint

BEST, LAST = "checkpoint_best.pt", "checkpoint_last.pt"


def put(path: Path, updates: int, *, best: float | None = None, old_format: bool = False) -> Path:
    state = fairseq_checkpoint({"w": torch.full((30_000,), float(updates))}, updates=updates)
    state["extra_state"] |= {} if best is None else {"best": best}  # its own validation loss is 3.25
    torch.save(state, path, _use_new_zipfile_serialization=not old_format)
    return path


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def digests(folder: Path) -> Counter[str]:
    return Counter(map(digest, folder.iterdir()))


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def put_earlier(path: Path, updates: int) -> None:
    """As fairseq leaves it when it is killed before its copy: all others are of a later date."""
    put(path, updates, best=3.5)
    touch_later(path.parent, but=path)


def touch_later(folder: Path, *, but: Path) -> None:
    time.sleep(0.02)  # a tick of the clock of dates
    for path in set(folder.iterdir()) - {but}:
        path.touch()


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1000])


def empty(path: Path) -> None:
    path.write_bytes(b"")


def zero_the_middle(path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(data[:50_000] + bytes(20_000) + data[70_000:])


def damage_the_pickle(path: Path) -> None:
    data = path.read_bytes()
    place = data.index(b"num_updates")
    path.write_bytes(data[:place] + b"\xff\xff" + data[place + 2 :])


def damage_the_directory(path: Path) -> None:
    data = path.read_bytes()
    place = data.rindex(b"PK\x01\x02")
    path.write_bytes(data[:place] + bytes(4) + data[place + 4 :])


DAMAGES = (cut, empty, zero_the_middle, damage_the_pickle, damage_the_directory)
