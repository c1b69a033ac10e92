"""The weights of a folder of Hugging Face: safetensors, or pickles that only hold tensors, in one file or several."""

import importlib
import json
from pathlib import Path
from typing import Any

from torch import Tensor

from fairseq_rope.checkpoints.files import read_pickle
from fairseq_rope_data.errors import UserError, why_no_file

SAFETENSORS = "model.safetensors"
_PICKLE = "pytorch_model.bin"


def require_safetensors() -> Any:
    """Import `safetensors.torch`.

    Raises:
        UserError: the package is not installed.
    """
    try:
        return importlib.import_module("safetensors.torch")
    except ImportError as error:
        command = "pip install 'fairseq-rope[export]'"
        raise UserError(f"the package safetensors (extra `export`) cannot be imported: {command}") from error


def read_tensors(folder: Path) -> dict[str, Tensor]:
    """Return all tensors of a folder by their names; those of safetensors stay on disk until they are used.

    Raises:
        UserError: it has none, or a file is missing or damaged, or holds anything but tensors.
    """
    tensors: dict[str, Tensor] = {}
    for path in _files(folder):
        tensors |= _safetensors(path) if path.suffix == ".safetensors" else _pickled(path)
    return tensors


def write_tensors(path: Path, tensors: dict[str, Tensor]) -> None:
    """Write tensors, contiguous and none sharing memory, as `transformers` does.

    Raises:
        UserError: the file cannot be written.
    """
    package = require_safetensors()
    try:
        package.save_file(tensors, path, metadata={"format": "pt"})
    except Exception as error:  # as in reading
        raise UserError(f"cannot write {path}: is the disk full? ({error})") from error


def _files(folder: Path) -> list[Path]:
    """Return the files with weights; safetensors, if there are such, and one file rather than several."""
    for name in (SAFETENSORS, _PICKLE):
        if (folder / name).is_file():
            return [folder / name]
        index = folder / f"{name}.index.json"
        if index.is_file():
            return [_shard(folder, index, shard) for shard in _shard_names(index)]
    raise UserError(f"FOLDER {folder} has no weights: neither {SAFETENSORS} nor {_PICKLE}")


def _shard_names(index: Path) -> list[str]:
    try:
        names = json.loads(index.read_bytes())["weight_map"].values()
        return sorted({str(name) for name in names})
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise UserError(f"{index} is damaged: {error!r}") from error


def _shard(folder: Path, index: Path, name: str) -> Path:
    if Path(name).name != name:
        raise UserError(f"{index} is damaged: the name of a file must have no folder, but is {name}")
    if not (folder / name).is_file():
        raise UserError(f"cannot load {folder / name}, which {index} names: {why_no_file(folder / name)}")
    return folder / name


def _safetensors(path: Path) -> dict[str, Tensor]:
    package = require_safetensors()
    try:
        tensors: dict[str, Tensor] = package.load_file(path)
    except Exception as error:  # of a type that each version has of its own
        raise UserError(f"cannot load {path}: it is truncated, corrupt or no safetensors ({error})") from error
    return tensors


def _pickled(path: Path) -> dict[str, Tensor]:
    state = read_pickle(path)
    if not isinstance(state, dict) or not all(isinstance(tensor, Tensor) for tensor in state.values()):
        raise UserError(f"cannot load {path}: it must hold a dictionary of tensors")
    return state
