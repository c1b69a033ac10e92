"""What the rotation alone costs: each training step with it and without it, in one process."""

import contextlib
import statistics
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from benchmarks.model import build, train
from benchmarks.model.spec import Repetition, Spec, total
from fairseq_rope.modules.positions.base import PositionMethod


def measurement(spec: Spec) -> Callable[[], Repetition]:
    """Build a Trainer; a repetition is `spec.updates` batches, a step with and a step without rotation on each.

    Raises:
        RuntimeError: the model gives the same with and without, so that nothing would be measured.
    """
    trainer = build.trainer(spec, build.training_options(spec, max_tokens=spec.max_tokens))
    groups = train.batches(trainer)
    _check_effect(trainer, next(groups))

    def repeat() -> Repetition:
        with_it: list[Repetition] = []
        without: list[Repetition] = []
        for i in range(spec.updates):
            group = next(groups)
            # what goes first changes, lest one of them find warmer caches
            for rotates in (True, False) if i % 2 else (False, True):
                with contextlib.nullcontext() if rotates else without_rotation(trainer.get_model()):
                    (with_it if rotates else without).append(train.repetition(trainer, [group], spec.device))
        whole = total(with_it)
        # the median of the pairs: one step that something else delayed would count for more than the rotation
        left = statistics.median(its.seconds / full.seconds for full, its in zip(with_it, without, strict=True))
        return replace(whole, seconds_without=left * whole.seconds, skipped=total([whole, *without]).skipped)

    return repeat


@contextlib.contextmanager
def without_rotation(model: Any) -> Iterator[None]:
    """Take the rotation out of a model while the block runs."""
    found = [(module, module.position_method) for module in model.modules() if hasattr(module, "position_method")]
    for module, _ in found:
        module.position_method = PositionMethod()
    try:
        yield
    finally:
        for module, method in found:
            module.position_method = method


def _check_effect(trainer: Any, group: train.Group) -> None:
    losses = []
    for block in (contextlib.nullcontext(), without_rotation(trainer.get_model())):
        with block:
            losses.append(trainer.valid_step(group[0])["loss"])
    if losses[0] == losses[1]:
        raise RuntimeError("the rotation cannot be taken out of this model: its loss stays the same")
