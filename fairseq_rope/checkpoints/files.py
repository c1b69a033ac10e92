"""fairseq's checkpoint files on disk: find the last ones of a folder, and read one safely."""

import re
from argparse import Namespace
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from omegaconf import DictConfig, OmegaConf

from fairseq_rope.compat.verified_checkpoints import DamagedCheckpoint, is_unreadable, verify
from fairseq_rope_data.errors import UserError, why_no_file

# the names that fairseq's save_checkpoint gives; the group is what the files are sorted by
_NAMES = {"epoch": re.compile(r"checkpoint(\d+)\.pt"), "update": re.compile(r"checkpoint_\d+_(\d+)\.pt")}
# torch says which global it refused only in the text of its error, in one of these two forms
_REFUSED = re.compile(r"GLOBAL (\S+) (?:was not an allowed global|whose module)")
# of a configuration, those that something here reads
_SECTIONS = ("model", "task", "criterion", "optimizer", "optimization", "dataset", "distributed_training")

Checkpoint = dict[str, Any]


def last_checkpoints(folder: Path, kind: str, count: int, *, upper_bound: int | None = None) -> list[Path]:
    """Find the last `count` checkpoints of a kind, the newest first.

    Args:
        folder: where fairseq saved, its --save-dir.
        kind: epoch, for `checkpoint<epoch>.pt`, or update, for `checkpoint_<epoch>_<updates>.pt`.
        count: how many; at least 1.
        upper_bound: the highest number to take, itself included.

    Raises:
        UserError: count < 1, no such folder, or fewer than `count` files, which are then named.
    """
    if count < 1:
        raise UserError(f"--num-{kind}-checkpoints must be at least 1, but is {count}")
    if not folder.is_dir():
        raise UserError(f"--inputs must be one folder with --num-{kind}-checkpoints, but {folder} is not a folder")
    numbered = [(int(match[1]), path) for path in folder.iterdir() if (match := _NAMES[kind].fullmatch(path.name))]
    newest = [path for number, path in sorted(numbered, reverse=True) if upper_bound is None or number <= upper_bound]
    if len(newest) < count:
        bound = "" if upper_bound is None else f" up to --checkpoint-upper-bound {upper_bound}"
        names = ", ".join(path.name for path in newest) or "none"
        raise UserError(
            f"--num-{kind}-checkpoints is {count}, but {folder} has {len(newest)} {kind} checkpoints{bound}: {names}"
        )
    return newest[:count]


def load_checkpoint(path: Path) -> Checkpoint:
    """Read one fairseq checkpoint onto the CPU; tensors of a zip file stay on disk until they are used.

    Only the types that `fairseq_rope` trusts are made, so reading runs nothing. Options are read as they are: what
    builds a model from them checks them first, see `fairseq_rope.compat.checkpoint_options`.

    Returns: the checkpoint's dictionary; `model` is a dictionary in it, and `optimizer_history` and `extra_state`,
        where they are, a list of dictionaries and a dictionary.

    Raises:
        DamagedCheckpoint: it is truncated or corrupt.
        UserError: there is no such file; it wants to run something; it is not a checkpoint of fairseq.
        OSError: it cannot be read.
    """
    state = read_pickle(path)
    _check_form(path, state)
    return state


def save_checkpoint(state: Checkpoint, part: Path, *, output: Path) -> None:
    """Write a checkpoint to `part`, which is to become `output`.

    Raises:
        UserError: the disk is full, which torch's text doesn't say.
    """
    try:
        torch.save(state, part)
    except RuntimeError as error:
        raise UserError(f"cannot write {output}: is the disk full? ({str(error).splitlines()[0]})") from error


def model_options(state: Checkpoint) -> Namespace:
    """Return the options that a model was trained with; a model without a command line of its own has a few only."""
    options: Any = state.get("args") or (state.get("cfg") or {}).get("model") or {}
    if isinstance(options, DictConfig):
        options = OmegaConf.to_container(options)  # unresolved: a missing or a wrong interpolation is no matter here
    return options if isinstance(options, Namespace) else Namespace(**options)


def arch_of(options: object) -> str:
    """Return the arch that a model's options name, which hydra's have as `_name`; None, as text, where they do not."""
    return str(getattr(options, "arch", None) or getattr(options, "_name", None))


def read_pickle(path: Path) -> Any:
    """Return what `torch.save` wrote, as `load_checkpoint` reads it, whatever its form.

    Raises:
        DamagedCheckpoint: see `load_checkpoint`.
        UserError: there is no such file; it wants to run something.
        OSError: it cannot be read.
    """
    if not path.is_file():
        raise UserError(f"cannot load {path}: {why_no_file(path)}")
    is_zip = verify(str(path))
    if not is_zip:
        with path.open("rb") as file:
            while file.read(1 << 20):  # the disk's errors come here; torch's words for them are those for damage
                pass
    try:
        # mmap needs torch's zip form; files of torch < 1.6 have another
        return torch.load(path, map_location="cpu", mmap=is_zip, weights_only=True)
    except Exception as error:  # unpickling damaged bytes can raise anything
        if is_unreadable(error):
            raise
        refused = _REFUSED.search(str(error))
        if refused:
            reason = f"it wants to run {refused[1]}, which a checkpoint never needs; refused"
            raise UserError(f"cannot load {path}: {reason}") from error
        # a zip file with the right checksums and structure is as it was written, whatever else keeps torch from it
        whole = is_zip and "PytorchStreamReader" not in str(error)
        reason = f"it is truncated, corrupt or not a checkpoint ({type(error).__name__}: {error}".partition("\n")[0]
        raise (UserError if whole else DamagedCheckpoint)(f"cannot load {path}: {reason.rstrip(': ')})") from error


def _check_form(path: Path, state: Any) -> None:
    """Check that a checkpoint has the form that fairseq writes and all who read it rely on."""
    if not isinstance(state, dict) or not isinstance(state.get("model"), dict):
        raise UserError(f"cannot load {path}: it is not a checkpoint of fairseq, which holds a dictionary 'model'")
    cfg = state.get("cfg")
    if cfg is not None and not isinstance(cfg, Mapping):
        raise UserError(f"cannot load {path}: its cfg must be a dictionary of options, but is a {type(cfg).__name__}")
    options = {"args": state.get("args"), "cfg": cfg}
    if cfg is not None:
        options |= {f"cfg.{section}": cfg.get(section) for section in _SECTIONS}
    for name, value in options.items():
        has_names = isinstance(value, Mapping) and all(isinstance(key, str) for key in value)
        if value is not None and not has_names and not isinstance(value, Namespace):
            raise UserError(f"cannot load {path}: its {name} must be options, but is a {type(value).__name__}")
    extra = state.get("extra_state")
    if extra is not None and not isinstance(extra, dict):
        raise UserError(f"cannot load {path}: its extra_state must be a dictionary, but is a {type(extra).__name__}")
    history = state.get("optimizer_history")
    if history is not None and not (isinstance(history, list) and all(isinstance(entry, dict) for entry in history)):
        raise UserError(f"cannot load {path}: its optimizer_history must be a list of dictionaries")
