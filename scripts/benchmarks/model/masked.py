"""Training of masked language models through fairseq's Trainer: ours against fairseq's `roberta`, tokens a second."""

from collections.abc import Callable

from benchmarks.model import build, flops
from benchmarks.model.spec import Repetition, Spec
from benchmarks.model.train import batches, repetition

KIND = "masked"


def measurement(spec: Spec) -> Callable[[], Repetition]:
    """Build a Trainer; a repetition is `spec.updates` steps on the next batches.

    Both models see the same blocks and masks in the same order: they depend on data and seed alone.
    """
    trainer = build.trainer(spec, build.masked_options(spec))
    groups = batches(trainer)
    return lambda: repetition(
        trainer, [next(groups) for _ in range(spec.updates)], spec.device, needs=flops.of_masked_training
    )
