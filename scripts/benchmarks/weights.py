"""A checkpoint of random weights, for the speed of translation alone."""

from collections.abc import Callable

from benchmarks import setup
from benchmarks.spec import Repetition, Spec


def measurement(spec: Spec) -> Callable[[], Repetition]:
    """Prepare a model; a repetition writes it to `spec.checkpoint`."""
    trainer = setup.trainer(spec, setup.training_options(spec, max_tokens=1024))

    def repeat() -> Repetition:
        trainer.save_checkpoint(spec.checkpoint, {})
        return Repetition(seconds=0, tokens=0, sentences=0)

    return repeat
