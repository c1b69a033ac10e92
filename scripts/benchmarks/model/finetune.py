"""Training of classifiers of sentences through fairseq's Trainer: ours against fairseq's `roberta`, tokens a second."""

from collections.abc import Callable

from benchmarks.model import build
from benchmarks.model.spec import Repetition, Spec
from benchmarks.model.train import batches, repetition

KIND = "finetune"


def measurement(spec: Spec) -> Callable[[], Repetition]:
    """Build a Trainer; a repetition is `spec.updates` steps on the next batches, the same for both models."""
    trainer = build.trainer(spec, build.classifying_options(spec))
    groups = batches(trainer)
    return lambda: repetition(trainer, [next(groups) for _ in range(spec.updates)], spec.device, needs=lambda *_: 0.0)
