"""A training step on sentences of one length: seconds and peak memory as the length grows."""

from collections.abc import Callable
from typing import Any

from benchmarks.model import build, train
from benchmarks.model.spec import Repetition, Spec


def measurement(spec: Spec) -> Callable[[], Repetition]:
    """Build a Trainer; a repetition is `spec.updates` steps on pairs of `spec.length` random tokens."""
    limits = ["--max-source-positions", str(spec.length), "--max-target-positions", str(spec.length)]
    options = build.training_options(spec, max_tokens=spec.length * spec.sentences)
    trainer = build.trainer(spec, [*options, *limits])
    # the one that sets the learning rate of the first step
    trainer.begin_epoch(1)
    sample = _sample(spec, trainer.task.target_dictionary)
    return lambda: train.repetition(trainer, [[sample]] * spec.updates, spec.device)


def _sample(spec: Spec, dictionary: Any) -> dict[str, Any]:
    import torch

    generator = torch.Generator().manual_seed(1)
    size = (spec.sentences, spec.length)
    tokens = torch.randint(dictionary.nspecial, len(dictionary), size, generator=generator)
    tokens[:, -1] = dictionary.eos()
    return {
        "id": torch.arange(spec.sentences),
        "nsentences": spec.sentences,
        "ntokens": tokens.numel(),
        "net_input": {
            "src_tokens": tokens,
            "src_lengths": tokens.new_full((spec.sentences,), spec.length),
            "prev_output_tokens": tokens.roll(1, dims=1),
        },
        "target": tokens,
    }
