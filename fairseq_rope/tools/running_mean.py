"""The mean of several state_dicts, one of them in memory at a time."""

import copy
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from fairseq_rope.tools._common import ToolError


class RunningMean:
    """The sum of the models added so far, one tensor for each key, wider than the models' own types.

    Floats are summed in fp32 (fp64 if stored so), because a sum in fp16 or bf16 loses most of its digits. Integers,
    such as counters, are summed in int64 and their mean is rounded down, as fairseq does: equal ones stay as they
    are. Booleans become true where all are true.
    """

    def __init__(self) -> None:
        """Start with no model."""
        self.count = 0
        self._first_path = Path()
        self._order: dict[str, Any] = {}
        self._sums: dict[str, Tensor] = {}
        self._dtypes: dict[str, torch.dtype] = {}
        self._shared_with: dict[str, tuple[str, ...]] = {}

    def add(self, path: Path, model: dict[str, Any]) -> None:
        """Add a model's tensors; none of them is kept.

        Raises:
            ToolError: keys or shapes differ from the first model's, or a value isn't a tensor; names `path` and key.
        """
        shared_with = _shared_with(path, model)
        if not self.count:
            self._start(path, model)
        self._check(path, model)
        for key, tensor in model.items():
            self._sums[key] += tensor
            self._dtypes[key] = torch.promote_types(self._dtypes[key], tensor.dtype)
            self._shared_with[key] += (shared_with[key],)
        self.count += 1

    def result(self) -> dict[str, Tensor]:
        """Give the mean in the stored types and order; keys that shared a tensor in every model share one again."""
        means: dict[tuple[str, ...], Tensor] = {}
        for key, total in self._sums.items():
            if self._shared_with[key] not in means:
                rounding = None if _is_inexact(total) else "floor"
                mean = torch.div(total, self.count, rounding_mode=rounding).to(self._dtypes[key])
                means[self._shared_with[key]] = mean
            self._order[key] = means[self._shared_with[key]]
        return self._order

    def _start(self, path: Path, model: dict[str, Any]) -> None:
        self._first_path = path
        # a state_dict carries its modules' versions as an attribute, which a copy keeps; no tensor stays in it
        self._order = copy.copy(model)
        for key, tensor in model.items():
            self._order[key] = None
            wide = torch.promote_types(tensor.dtype, torch.float32) if _is_inexact(tensor) else torch.int64
            self._sums[key] = torch.zeros(tensor.shape, dtype=wide)
            self._dtypes[key] = tensor.dtype
            self._shared_with[key] = ()

    def _check(self, path: Path, model: dict[str, Any]) -> None:
        for key in self._sums.keys() - model.keys():
            raise ToolError(f"cannot average {path}: it lacks {key}, which {self._first_path} has")
        for key, tensor in model.items():
            if key not in self._sums:
                raise ToolError(f"cannot average {path}: it has {key}, which {self._first_path} lacks")
            total = self._sums[key]
            if tensor.shape != total.shape:
                shapes = f"{tuple(tensor.shape)}, but {tuple(total.shape)} in {self._first_path}"
                raise ToolError(f"cannot average {path}: the shape of {key} is {shapes}")
            if _is_inexact(tensor) != _is_inexact(total):
                types = f"{tensor.dtype}, but {self._dtypes[key]} in {self._first_path}"
                raise ToolError(f"cannot average {path}: the type of {key} is {types}")


def _shared_with(path: Path, model: dict[str, Any]) -> dict[str, str]:
    """Give each key the first key that has the same memory seen the same way: itself, if its tensor isn't shared."""
    first: dict[tuple[Any, ...], str] = {}
    leaders: dict[str, str] = {}
    for key, tensor in model.items():
        if not isinstance(tensor, Tensor):
            raise ToolError(f"cannot average {path}: {key} is a {type(tensor).__name__}, not a tensor")
        storage = tensor.untyped_storage().data_ptr()
        memory = (storage, tensor.storage_offset(), tensor.shape, tensor.stride(), tensor.dtype)
        leaders[key] = first.setdefault(memory, key)
    return leaders


def _is_inexact(tensor: Tensor) -> bool:
    return tensor.is_floating_point() or tensor.is_complex()
