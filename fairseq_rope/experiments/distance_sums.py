"""Sums of attention weights over pairs of tokens, by their distance, and what they are for the heads of a stack."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class StackAttention:
    """The self-attention of a stack, N distances, L layers of H heads.

    Args:
        distances: the key's position less the query's, ascending, those that some pair has, (N,).
        pairs: how many pairs of tokens have the distance, (N,).
        weights: their mean weight in each head, (L, H, N).
        even: their mean weight if each query attended to all keys that it sees alike, (N,).
        end_weights: the mean weight that a query gives to </s>, by head, (L, H).
        even_end: what that would be, attending to all alike.
    """

    distances: Tensor
    pairs: Tensor
    weights: Tensor
    even: Tensor
    end_weights: Tensor
    even_end: float

    @property
    def relative(self) -> Tensor:
        """Return the weights of the heads by those of even attention, (L, H, N): 1 where distance does not matter."""
        return self.weights / self.even


# of weights (H, B, T, T): the sums over pairs of words by distance, (H, 2 limit + 1), and over those with </s>, (H,)
Sums = tuple[Tensor, Tensor]


class BatchPairs:
    """The pairs of a query and a key in a batch.

    Args:
        tokens: (B, T), with padding on any side.
        pad: the index of padding, which counts neither as query nor as key.
        end: the index of </s>.
        limit: the largest distance that counts.
        causal: queries see no later keys.
    """

    def __init__(self, tokens: Tensor, *, pad: int, end: int, limit: int, causal: bool):
        real, words = tokens.ne(pad), tokens.ne(pad) & tokens.ne(end)
        # (B, T, T): which keys a query sees
        seen = real[:, :, None] & real[:, None, :]
        if causal:
            seen = seen.tril()
        # the first token of a target is </s>, which sees itself alone: it has no choice
        self.seen = seen & (seen & words[:, None, :]).any(dim=-1, keepdim=True)
        self.queries = int(self.seen.any(dim=-1).sum())
        self._words, self._limit = words[:, None, :], limit
        position = torch.arange(tokens.size(1))
        self._distance = position[None, :] - position[:, None]

    def sums(self, weights: Tensor) -> Sums:
        """Return the sums of each head's weights, (H, B, T, T), in float64."""
        # (H, B, T, T) -> (H, T, T)
        of_words = weights.masked_fill(~(self.seen & self._words), 0).sum(dim=1, dtype=torch.float64)
        to_end = weights.masked_fill(~(self.seen & ~self._words), 0).sum(dim=(1, 2, 3), dtype=torch.float64)
        near = self._distance.abs() <= self._limit
        by_distance = torch.zeros(len(weights), 2 * self._limit + 1, dtype=torch.float64)
        return by_distance.index_add_(1, self._distance[near] + self._limit, of_words[:, near]), to_end

    def even(self) -> Tensor:
        """Return what weights would be if each query attended to all keys that it sees alike, (1, B, T, T)."""
        return (self.seen.double() / self.seen.sum(dim=-1, keepdim=True).clamp(min=1))[None]


class DistanceSums:
    """Sums over the pairs of a stack, batch by batch.

    Args:
        limit: the largest distance that counts.
    """

    def __init__(self, limit: int):
        self.limit = limit
        # of pairs, of even attention, then of each layer
        self._sums: list[Sums] = []
        self._queries = 0

    def add(self, pairs: BatchPairs, layers: Sequence[Sums]) -> None:
        """Add a batch and the sums of its layers."""
        added = [pairs.sums(pairs.seen[None].double()), pairs.sums(pairs.even()), *layers]
        self._queries += pairs.queries
        old = self._sums or [(torch.zeros_like(words), torch.zeros_like(end)) for words, end in added]
        self._sums = [(old[i][0] + words, old[i][1] + end) for i, (words, end) in enumerate(added)]

    def result(self) -> StackAttention | None:
        """Return the means; None where there is no pair."""
        if not self._queries:
            return None
        (pairs, _), (even, even_end), *layers = self._sums
        found = pairs[0] > 0
        return StackAttention(
            distances=torch.arange(-self.limit, self.limit + 1)[found],
            pairs=pairs[0, found].long(),
            weights=torch.stack([words[:, found] for words, _ in layers]) / pairs[0, found],
            even=even[0, found] / pairs[0, found],
            end_weights=torch.stack([end for _, end in layers]) / self._queries,
            even_end=float(even_end) / self._queries,
        )
