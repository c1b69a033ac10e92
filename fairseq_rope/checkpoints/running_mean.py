"""The mean of several state_dicts, one of them in memory at a time."""

import copy
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from fairseq_rope.compat.unset_buffers import is_unset
from fairseq_rope_data.errors import UserError

# the types that have a mean, and the wider ones in which they are summed
_SUM_DTYPES = {
    **{dtype: torch.float32 for dtype in (torch.float16, torch.bfloat16, torch.float32)},
    **{dtype: dtype for dtype in (torch.float64, torch.complex64, torch.complex128)},
    **{dtype: torch.int64 for dtype in (torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)},
}


class RunningMean:
    """The sum of the models added so far, one tensor for each key, wider than the models' own types.

    Floats are summed in fp32 (fp64 if stored so), because a sum in fp16 or bf16 loses most of its digits. Integers,
    such as counters, are summed in int64 and their mean is rounded down, as fairseq does: equal ones stay as they
    are. Booleans become true where all are true. NaN and infinity are refused: a mean with them is worth nothing, and
    the file that brought them in should be known.
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
            UserError: keys, shapes or kinds of number differ from the first model's; a value isn't a dense tensor of a
                type that has a mean, isn't finite, or brings the sum beyond its type. Names `path` and key.
        """
        for key, value in model.items():
            _check_value(path, key, value)
        shared_with = _shared_with(model)
        if not self.count:
            self._start(path, model)
        self._check(path, model)
        for key, tensor in model.items():
            if not is_unset(key):  # else 0
                self._sums[key] = _sum(path, key, self._sums[key], tensor)
            self._dtypes[key] = torch.promote_types(self._dtypes[key], tensor.dtype)
            self._shared_with[key] += (shared_with[key],)
        self.count += 1

    def result(self) -> dict[str, Tensor]:
        """Return the mean in the stored types and order; keys that shared a tensor in every model share one again."""
        means: dict[tuple[str, ...], Tensor] = {}
        for key, total in self._sums.items():
            if self._shared_with[key] not in means:
                rounding = "floor" if total.dtype == torch.int64 else None
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
            self._sums[key] = torch.zeros(tensor.shape, dtype=_SUM_DTYPES[tensor.dtype])
            self._dtypes[key] = tensor.dtype
            self._shared_with[key] = ()

    def _check(self, path: Path, model: dict[str, Any]) -> None:
        for key in self._sums.keys() - model.keys():
            raise UserError(f"cannot average {path}: it lacks {key}, which {self._first_path} has")
        for key, tensor in model.items():
            if key not in self._sums:
                raise UserError(f"cannot average {path}: it has {key}, which {self._first_path} lacks")
            total = self._sums[key]
            if tensor.shape != total.shape:
                shapes = f"{tuple(tensor.shape)}, but {tuple(total.shape)} in {self._first_path}"
                raise UserError(f"cannot average {path}: the shape of {key} is {shapes}")
            if _kind(tensor) != _kind(total):
                types = f"{tensor.dtype}, but {self._dtypes[key]} in {self._first_path}"
                raise UserError(f"cannot average {path}: the type of {key} is {types}")


def _check_value(path: Path, key: str, value: Any) -> None:
    """Check that `value` is a dense tensor in memory, of a type that has a mean, and all its numbers are finite."""
    if not isinstance(value, Tensor):
        raise UserError(f"cannot average {path}: {key} is a {type(value).__name__}, not a tensor")
    if value.is_meta or value.is_nested or value.layout != torch.strided:
        what = "meta" if value.is_meta else "nested" if value.is_nested else str(value.layout).removeprefix("torch.")
        raise UserError(f"cannot average {path}: {key} is a {what} tensor, but must be a dense one")
    if value.dtype not in _SUM_DTYPES:
        raise UserError(f"cannot average {path}: the type of {key} is {value.dtype}, which has no mean")
    odd = value.numel() - int(value.isfinite().sum())
    if odd and not is_unset(key):
        raise UserError(f"cannot average {path}: {odd:,} of {value.numel():,} numbers of {key} are NaN or infinite")


def _sum(path: Path, key: str, total: Tensor, tensor: Tensor) -> Tensor:
    """Return total + tensor in the wider type of the two.

    Raises:
        UserError: the sum is beyond what that type holds.
    """
    wide = tensor.to(_SUM_DTYPES[tensor.dtype])
    added = total + wide
    if added.dtype == torch.int64:
        # both have a sign that the sum lost
        overflow = bool((((total ^ added) & (wide ^ added)) < 0).any())
    else:
        overflow = not added.isfinite().all()
    if overflow:
        raise UserError(f"cannot average {path}: with it the sum of {key} is beyond what {added.dtype} holds")
    return added


def _shared_with(model: dict[str, Tensor]) -> dict[str, str]:
    """Return key -> the first key whose tensor is the same view of the same memory; itself, if that is not shared."""
    first: dict[tuple[Any, ...], str] = {}
    leaders: dict[str, str] = {}
    for key, tensor in model.items():
        storage = tensor.untyped_storage().data_ptr()
        memory = (storage, tensor.storage_offset(), tensor.shape, tensor.stride(), tensor.dtype)
        leaders[key] = first.setdefault(memory, key)
    return leaders


def _kind(tensor: Tensor) -> str:
    return "complex" if tensor.is_complex() else "float" if tensor.is_floating_point() else "integer"
