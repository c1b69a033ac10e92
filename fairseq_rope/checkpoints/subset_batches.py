"""Sentence pairs of a data folder as batches, the way fairseq-validate reads them."""

from collections.abc import Iterator
from typing import Any

from fairseq import utils
from fairseq.data import data_utils

from fairseq_rope.checkpoints.loading import brief
from fairseq_rope_data.errors import UserError


class SubsetBatches:
    """The batches of a subset, sentences of about equal length together.

    Not the task's iterator, to which one cannot say which sentences: its first batches are the shortest.

    Args:
        task: fairseq's translation task.
        model: whose longest inputs are the limit.
        subset: such as valid.
        data: its folder, as errors name it.
        max_sentences: only the first ones of the subset; None: all.
        max_tokens: of a batch's longer side; a longer sentence is a batch of its own.

    Raises:
        UserError: there is no such subset, or none of its sentences has a target and fits the model.
    """

    def __init__(
        self, task: Any, model: Any, subset: str, *, data: str, max_sentences: int | None = None, max_tokens: int = 4096
    ):
        try:
            task.load_dataset(subset, combine=False)
        except Exception as error:  # no such file, or a damaged one: each raises its own
            raise UserError(f"--subset {subset} cannot be read from --data {data}: {brief(error)}") from error
        self.dataset = task.dataset(subset)
        if getattr(self.dataset, "tgt", None) is None:
            raise UserError(f"--subset {subset} of --data {data} has no target side")
        with data_utils.numpy_seed(1):  # the order of equally long ones is drawn
            indices = self.dataset.ordered_indices()
        if max_sentences is not None:
            indices = indices[indices < max_sentences]
        limits = utils.resolve_max_positions(task.max_positions(), model.max_positions())
        fitting, too_long = self.dataset.filter_indices_by_size(indices, limits)
        self.sentences, self.skipped = len(fitting), len(too_long)
        if not self.sentences:
            raise UserError(f"--subset {subset} of --data {data} has no sentences of up to {limits} tokens")
        longest = int(self.dataset.num_tokens_vec(fitting).max())
        self._batches = self.dataset.batch_by_size(fitting, max_tokens=max(max_tokens, longest))

    def __len__(self) -> int:
        return len(self._batches)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for batch in self._batches:
            yield self.dataset.collater([self.dataset[index] for index in batch])
