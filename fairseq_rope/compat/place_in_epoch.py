"""A training that is resumed within an epoch, on another number of processes or with other batches, goes on there.

Symptom: fairseq keeps how many batches each process has read, but not of how many. On twice as many processes, or with
batches of twice the size, a training leaves out as many sentences as it has read, or ends with "Cannot resume training
due to dataloader mismatch"; on half as many it reads half of them again.
fairseq 0.12.2 and main; can go when fairseq keeps the share of the epoch.
"""

from collections.abc import Callable
from typing import Any

from fairseq.data.iterators import EpochBatchIterator

from fairseq_rope.compat.wrapping import wrap

# of a checkpoint's train_iterator, beside fairseq's: batches of the epoch, and processes that share them
_BATCHES, _SHARDS = "batches_in_epoch", "num_shards"


def keep_place_in_epoch() -> None:
    """Keep in checkpoints what a number of batches is of; those without it are resumed as fairseq does."""
    wrap(EpochBatchIterator, "state_dict", _with_sizes)
    wrap(EpochBatchIterator, "load_state_dict", _at_same_share)


def _with_sizes(state_dict: Callable[..., dict[str, Any]], iterator: Any) -> dict[str, Any]:
    return {**state_dict(iterator), _BATCHES: len(iterator.frozen_batches), _SHARDS: iterator.num_shards}


def _at_same_share(load: Callable[..., None], iterator: Any, state: dict[str, Any]) -> None:
    if state.get("iterations_in_epoch") and state.get(_BATCHES) and state.get(_SHARDS):
        # rounded down, so that no sentence is left out
        read = state["iterations_in_epoch"] * state[_SHARDS] * len(iterator.frozen_batches)
        state = {**state, "iterations_in_epoch": read // (state[_BATCHES] * iterator.num_shards)}
    load(iterator, state)
