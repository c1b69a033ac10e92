"""Training through fairseq's own Trainer: target tokens a second."""

from collections.abc import Callable, Iterator
from typing import Any

from benchmarks.model import build, flops
from benchmarks.model.clock import timed
from benchmarks.model.spec import Repetition, Spec

Group = list[dict[str, Any]]


def measurement(spec: Spec) -> Callable[[], Repetition]:
    """Build a Trainer; a repetition is `spec.updates` steps on the next batches.

    Both models see the same batches in the same order: it depends on data and seed alone.
    """
    trainer = build.trainer(spec, build.training_options(spec, max_tokens=spec.max_tokens))
    groups = batches(trainer)
    return lambda: repetition(trainer, [next(groups) for _ in range(spec.updates)], spec.device)


def repetition(
    trainer: Any, groups: list[Group], device: str, *, needs: Callable[[Any, Any], float] = flops.of_training
) -> Repetition:
    """Train on `groups`, a step on each; return how long it took; `needs` counts operations of a model on a batch."""
    skipped = 0

    def steps() -> None:
        nonlocal skipped
        for group in groups:
            # raise_oom: else a step that found no memory counts as one that was fast
            skipped += trainer.train_step(group, raise_oom=True) is None

    seconds = timed(steps, device)
    samples = [sample for group in groups for sample in group]
    inputs = [tokens for sample in samples for name, tokens in sample["net_input"].items() if name.endswith("_tokens")]
    pad = trainer.task.source_dictionary.pad()
    return Repetition(
        seconds=seconds,
        tokens=sum(int(sample["ntokens"]) for sample in samples),
        sentences=sum(int(sample["nsentences"]) for sample in samples),
        steps=len(groups),
        flops=sum(needs(trainer.get_model(), sample) for sample in samples),
        skipped=skipped,
        padded=sum(tokens.numel() for tokens in inputs),
        padding=sum(int(tokens.eq(pad).sum()) for tokens in inputs),
    )


def batches(trainer: Any) -> Iterator[Group]:
    """Yield the batches of one step after another, epoch after epoch, as fairseq-train does."""
    from fairseq.data.iterators import GroupedIterator

    epoch_iterator = trainer.get_train_iterator(epoch=1)
    while True:
        trainer.begin_epoch(epoch_iterator.next_epoch_idx)
        yield from GroupedIterator(epoch_iterator.next_epoch_itr(shuffle=True), trainer.cfg.optimization.update_freq[0])
