"""Relative position representations (Shaw et al., arXiv 1803.02155, eq. 3-4; RoFormer, eq. 5)."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from fairseq_rope.modules.positions.base import PositionMethod
from fairseq_rope.modules.positions.distances import by_query_and_key, distances


class Shaw(PositionMethod):
    """Adds a learned vector of the distance to each key and to each value: distances beyond `clip` are as `clip`.

    Each layer has its own two tables, (2 clip + 1, D), which its heads share. They begin at 0: a model before its first
    update has no positions.
    """

    def __init__(self, head_dim: int, *, clip: int = 16):
        self.clip = clip
        self.head_dim = head_dim

    def for_layer(self) -> "ShawLayer":
        """Return a method with tables of its own."""
        return ShawLayer(self.head_dim, clip=self.clip)


class ShawLayer(PositionMethod):
    """The tables of one layer."""

    def __init__(self, head_dim: int, *, clip: int):
        names = ("relative_keys", "relative_values")
        self.clip = clip
        tables = {name: nn.Parameter(torch.zeros(2 * clip + 1, head_dim)) for name in names}
        self.weights: nn.ParameterDict = nn.ParameterDict(tables)

    def bias(self, q: Tensor, *, num_keys: int, offset: int = 0) -> Tensor:
        """Return q a^K / sqrt(D), (B, H, T, S)."""
        # (B, H, T, D), (2 clip + 1, D) -> (B, H, T, 2 clip + 1) -> (B, H, T, S)
        products = (q * q.size(-1) ** -0.5) @ self.weights["relative_keys"].t()
        index = self._index(q.size(2), num_keys, offset, q.device)
        return products.gather(-1, index.expand(*q.shape[:2], -1, -1))

    def added_values(self, *, offset: int = 0) -> Callable[[Tensor], Tensor]:
        """Return the map from probabilities to their sums of a^V."""

        def values(probabilities: Tensor) -> Tensor:
            index = self._index(probabilities.size(2), probabilities.size(3), offset, probabilities.device)
            # (B, H, T, S) -> (B, H, T, 2 clip + 1) -> (B, H, T, D)
            of_distance = probabilities.new_zeros(*probabilities.shape[:3], 2 * self.clip + 1)
            of_distance = of_distance.scatter_add(-1, index.expand_as(probabilities), probabilities)
            # probabilities may be wider than the model
            return of_distance @ self.weights["relative_values"].to(of_distance.dtype)

        return values

    def _index(self, num_queries: int, num_keys: int, offset: int, device: torch.device) -> Tensor:
        """Return the row of the tables for each query and key, (T, S)."""
        distance = distances(num_queries, num_keys, offset=offset, device=device)
        return by_query_and_key(distance.clamp(-self.clip, self.clip) + self.clip, num_keys=num_keys)
