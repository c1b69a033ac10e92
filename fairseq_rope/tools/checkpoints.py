"""fairseq's checkpoint files on disk: find the last ones of a folder, and read one safely."""

import re
import zipfile
from pathlib import Path
from typing import Any

import torch

from fairseq_rope.tools._common import ToolError

# the names that fairseq's save_checkpoint gives; the last group is what the files are sorted by
_EPOCH_NAME = re.compile(r"checkpoint(\d+)\.pt")
_UPDATE_NAME = re.compile(r"checkpoint_\d+_(\d+)\.pt")
# torch says which global it refused only in the text of its error, in one of these two forms
_REFUSED = re.compile(r"GLOBAL (\S+) (?:was not an allowed global|whose module)")

Checkpoint = dict[str, Any]


def last_epoch_checkpoints(folder: Path, count: int, *, upper_bound: int | None = None) -> list[Path]:
    """Find the last `count` epoch checkpoints, `checkpoint<epoch>.pt`, the newest first; see `_last`."""
    return _last(folder, count, _EPOCH_NAME, kind="epoch", upper_bound=upper_bound)


def last_update_checkpoints(folder: Path, count: int, *, upper_bound: int | None = None) -> list[Path]:
    """Find the last `count` update checkpoints, `checkpoint_<epoch>_<updates>.pt`, the newest first; see `_last`."""
    return _last(folder, count, _UPDATE_NAME, kind="update", upper_bound=upper_bound)


def load_checkpoint(path: Path) -> Checkpoint:
    """Read one fairseq checkpoint onto the CPU; tensors of a zip file stay on disk until they are used.

    Only the types that `fairseq_rope` trusts are made, so reading runs nothing. Options are read as they are: what
    builds a model from them checks them first, see `fairseq_rope.compat.checkpoint_options`.

    Returns: the checkpoint's dictionary; `model` is a dictionary in it.

    Raises:
        ToolError: no such file; truncated or corrupt; it wants to run something; not a checkpoint of fairseq.
    """
    if not path.is_file():
        raise ToolError(f"cannot load {path}: {'it is a folder' if path.is_dir() else 'there is no such file'}")
    with path.open("rb") as file:  # an unreadable file ends here, with its own error
        is_zip = zipfile.is_zipfile(file)
    try:
        # mmap needs torch's zip form; files of torch < 1.6 have another
        state = torch.load(path, map_location="cpu", mmap=is_zip, weights_only=True)
        damaged = _damaged_record(path) if is_zip else None
    except Exception as error:  # unpickling damaged bytes can raise anything
        raise ToolError(f"cannot load {path}: {_reason(error)}") from error
    if damaged is not None:
        raise ToolError(f"cannot load {path}: it is corrupt, the checksum of {damaged} is wrong")
    if not isinstance(state, dict) or not isinstance(state.get("model"), dict):
        raise ToolError(f"cannot load {path}: it is not a checkpoint of fairseq, which holds a dictionary 'model'")
    return state


def _last(folder: Path, count: int, name: re.Pattern[str], *, kind: str, upper_bound: int | None) -> list[Path]:
    """Find the `count` files with the highest numbers in their names, the highest first.

    Args:
        folder: where fairseq saved, its --save-dir.
        count: how many; at least 1.
        name: the pattern of a whole file name; its group is the number.
        kind: "epoch" or "update", for messages.
        upper_bound: the highest number to take, itself included.

    Raises:
        ToolError: count < 1, no such folder, or fewer than `count` files, which are then named.
    """
    if count < 1:
        raise ToolError(f"--num-{kind}-checkpoints must be at least 1, but is {count}")
    if not folder.is_dir():
        raise ToolError(f"--inputs must be one folder with --num-{kind}-checkpoints, but {folder} is not a folder")
    numbered = [(int(match[1]), path) for path in folder.iterdir() if (match := name.fullmatch(path.name))]
    found = [path for number, path in sorted(numbered, reverse=True) if upper_bound is None or number <= upper_bound]
    if len(found) < count:
        bound = "" if upper_bound is None else f" up to --checkpoint-upper-bound {upper_bound}"
        names = ", ".join(path.name for path in found) or "none"
        raise ToolError(
            f"--num-{kind}-checkpoints is {count}, but {folder} has {len(found)} {kind} checkpoints{bound}: {names}"
        )
    return found[:count]


def _damaged_record(path: Path) -> str | None:
    """Name the first record of a zip file whose checksum is wrong; torch itself doesn't compare them."""
    with zipfile.ZipFile(path) as archive:
        return archive.testzip()


def _reason(error: Exception) -> str:
    """Say in one line why torch didn't load a file: what it refused, or that the file is damaged."""
    refused = _REFUSED.search(str(error))
    if refused:
        return f"it wants to run {refused[1]}, which a checkpoint never needs; refused"
    first_line = str(error).partition("\n")[0].strip()
    detail = f"{type(error).__name__}: {first_line}" if first_line else type(error).__name__
    return f"it is truncated, corrupt or not a checkpoint ({detail})"
