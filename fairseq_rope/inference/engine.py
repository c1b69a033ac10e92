"""Engines turn source tokens into target tokens; a translator has one of two."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from torch import Tensor


class Hypothesis(NamedTuple):
    """A translation.

    Attributes:
        tokens: target tokens; </s> is the last.
        score: the sum of their log-probabilities, divided by their number to the power of `--lenpen`.
        limit: how many tokens it could have without </s>; more were cut.
    """

    tokens: list[int]
    score: float
    limit: int


class Engine(Protocol):
    """A loaded model, or several, with a search.

    Attributes:
        max_source_tokens: how many source tokens, with </s>, it takes.
        special_ids: target tokens that are no words, such as </s>.
    """

    max_source_tokens: int
    special_ids: set[int]

    def translate(self, sources: Sequence[Tensor]) -> Iterator[tuple[int, Hypothesis | None]]:
        """Translate in batches of similar length.

        Args:
            sources: (S,) each, with </s>, at most `max_source_tokens`.

        Yields: the index of each source in `sources`, in any order, with its best translation if there is one.
        """
        ...


def length_batches(
    dataset: Any, lengths: Sequence[int], *, max_tokens: int | None, max_sentences: int | None
) -> Iterable[Sequence[int]]:
    """Return batches of the indices of sentences, of similar length each.

    Args:
        dataset: fairseq's, with its own idea of the size of a batch.
        lengths: tokens of each sentence.
        max_tokens: of a batch, padding and all; None for no limit.
        max_sentences: of a batch; None for no limit.
    """
    order = np.argsort(lengths, kind="stable")
    batches: Iterable[Sequence[int]] = dataset.batch_by_size(order, max_tokens=max_tokens, max_sentences=max_sentences)
    return batches
