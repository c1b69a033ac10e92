"""A training that is resumed in its second epoch or later goes on with the batches that it had.

Symptom: a run resumed at the end of its first epoch or later has other batches than one that was never stopped: other
weights, and in mid-epoch some sentences twice and others not at all. fairseq draws the order of equally long sentences,
and so the batches, once in a process, from the seed and the epoch in which the process starts.
fairseq main; 0.12.2 draws them from the seed alone. Can go when main does, too.
"""

from collections.abc import Callable
from typing import Any

from fairseq.tasks import FairseqTask

from fairseq_rope.compat.wrapping import wrap


def keep_batches_on_resume() -> None:
    """Draw batches that are kept for all epochs as a run that starts at its first epoch does."""
    wrap(FairseqTask, "get_batch_iterator", _batches_of_a_first_epoch)


def _batches_of_a_first_epoch(
    get: Callable[..., Any], task: Any, dataset: Any, *args: Any, epoch: int = 1, **kwargs: Any
) -> Any:
    # what is drawn anew for every epoch: sharded data, resampled data, and on request
    is_redrawn = (
        kwargs.get("disable_iterator_cache")
        or kwargs.get("update_epoch_batch_itr")
        or getattr(task.cfg, "rebuild_batches", False)
        or not task.can_reuse_epoch_itr(dataset)
    )
    if is_redrawn or dataset in task.dataset_to_epoch_iter:
        return get(task, dataset, *args, epoch=epoch, **kwargs)
    iterator = get(task, dataset, *args, epoch=1, **kwargs)
    dataset.set_epoch(epoch)
    iterator.epoch = max(epoch, 1)
    return iterator
