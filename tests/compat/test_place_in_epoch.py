"""A training that is resumed within an epoch reads what is left of it, on any number of processes."""

import pytest
import torch
from fairseq.data import BaseWrapperDataset
from fairseq.data.iterators import EpochBatchIterator
from torch.utils.data import TensorDataset

SENTENCES = 61


def iterator(*, shards: int, shard: int = 0, batch: int = 2) -> EpochBatchIterator:
    dataset = BaseWrapperDataset(TensorDataset(torch.arange(SENTENCES)))
    batches = [list(range(start, min(start + batch, SENTENCES))) for start in range(0, SENTENCES, batch)]
    return EpochBatchIterator(dataset, _numbers, batches, num_shards=shards, shard_id=shard)


def _numbers(rows: list[tuple[torch.Tensor]]) -> list[int]:
    return [int(number) for (number,) in rows]


def read(found: list[EpochBatchIterator], updates: int | None = None) -> list[int]:
    """The sentences that all processes read in so many batches of each, or to the end of the epoch."""
    numbers: list[int] = []
    for process in found:
        batches = process.next_epoch_itr()
        for _ in range(len(process) - process.n if updates is None else updates):
            numbers += next(batches)
    return numbers


@pytest.mark.parametrize(("before", "after"), [(1, 2), (2, 1), (1, 1), (2, 4), (3, 1)])
@pytest.mark.parametrize("updates", [4, 8])
def test_each_sentence_is_read_once(before: int, after: int, updates: int):
    first = [iterator(shards=before, shard=shard) for shard in range(before)]
    seen = read(first, updates)
    second = [iterator(shards=after, shard=shard) for shard in range(after)]
    for process in second:
        process.load_state_dict(first[0].state_dict())
    assert sorted(seen + read(second)) == list(range(SENTENCES))


def test_what_makes_no_whole_batches_is_read_again_and_nothing_left_out():
    first = [iterator(shards=1)]
    seen = read(first, 29)
    second = [iterator(shards=4, shard=shard) for shard in range(4)]
    for process in second:
        process.load_state_dict(first[0].state_dict())
    rest = read(second)
    assert set(seen + rest) == set(range(SENTENCES)) and len(seen + rest) == SENTENCES + 2


@pytest.mark.parametrize(("batch", "expected"), [(1, 57), (4, 14), (8, 7)])
def test_other_batches_begin_at_the_same_share_of_the_epoch(batch: int, expected: int):
    first = iterator(shards=1)
    read([first], 29)
    second = iterator(shards=1, batch=batch)
    second.load_state_dict(first.state_dict())
    assert second.n == expected


def test_an_older_checkpoint_is_resumed_as_before():
    first = iterator(shards=1)
    read([first], 5)
    second = iterator(shards=2)
    second.load_state_dict({name: first.state_dict()[name] for name in ("epoch", "iterations_in_epoch", "shuffle")})
    assert second.n == 5
