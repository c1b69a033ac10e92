"""What the rotation alone costs: each training step with it and without it, in one process."""

import contextlib
import statistics
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from torch import Tensor

from benchmarks.model import build, train
from benchmarks.model.spec import Repetition, Spec, total
from fairseq_rope.modules.positions.rotary import RotaryEmbedding


class _Still(RotaryEmbedding):
    """Passes queries and keys as they are."""

    def rotate(self, x: Tensor, *, out: Tensor, **_: Any) -> Tensor:
        return out if out is x else out.copy_(x)


def measurement(spec: Spec) -> Callable[[], Repetition]:
    """Build a Trainer; a repetition is `spec.updates` batches, a step with and a step without rotation on each.

    Raises:
        RuntimeError: the model gives the same with and without, so that nothing would be measured.
    """
    trainer = build.trainer(spec, build.training_options(spec, max_tokens=spec.max_tokens))
    groups = train.batches(trainer)
    _require_effect(trainer, next(groups))

    def repeat() -> Repetition:
        with_it, without = [], []
        for i in range(spec.updates):
            group = next(groups)
            # what goes first changes, lest one of them find warmer caches
            for moves in (True, False) if i % 2 else (False, True):
                with contextlib.nullcontext() if moves else standing_still(trainer.get_model()):
                    (with_it if moves else without).append(train.repetition(trainer, [group], spec.device))
        whole = total(with_it)
        # the median of the pairs: one step that something else delayed would count for more than the rotation
        left = statistics.median(still.seconds / moving.seconds for moving, still in zip(with_it, without, strict=True))
        return replace(whole, seconds_without=left * whole.seconds, skipped=total([whole, *without]).skipped)

    return repeat


@contextlib.contextmanager
def standing_still(model: Any) -> Iterator[None]:
    """Take the rotation out of a model while the block runs."""
    found = {id(module.rotary): module.rotary for module in model.modules() if hasattr(module, "rotary")}
    kinds = {key: type(rotary) for key, rotary in found.items()}
    for rotary in found.values():
        rotary.__class__ = _Still
    try:
        yield
    finally:
        for key, rotary in found.items():
            rotary.__class__ = kinds[key]


def _require_effect(trainer: Any, group: train.Group) -> None:
    losses = []
    for block in (contextlib.nullcontext(), standing_still(trainer.get_model())):
        with block:
            losses.append(trainer.valid_step(group[0])["loss"])
    if losses[0] == losses[1]:
        raise RuntimeError("the rotation cannot be taken out of this model: its loss stays the same")
