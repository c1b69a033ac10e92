"""T5's relative position bias (Raffel et al., arXiv 1910.10683, section 2.1; RoFormer, eq. 8)."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from fairseq_rope.modules.positions.base import PositionMethod
from fairseq_rope.modules.positions.distances import by_query_and_key, distances


class T5Bias(PositionMethod):
    """Adds a learned number to the scores: of each head and each bucket of distances, shared by a stack's layers.

    The numbers begin at 0: a model before its first update has no positions.
    """

    def __init__(self, num_heads: int, *, bidirectional: bool, num_buckets: int = 32, max_distance: int = 128):
        """Make the table.

        Args:
            num_heads: H.
            bidirectional: half of the buckets are for keys after the query, as in an encoder.
            num_buckets: half of those for a direction have a distance each, the others grow with its logarithm.
            max_distance: from here on all distances share the last bucket.
        """
        self.bidirectional = bidirectional
        self.num_buckets = num_buckets
        self.max_distance = max_distance
        self.weights: nn.ParameterDict = nn.ParameterDict({"biases": nn.Parameter(torch.zeros(num_buckets, num_heads))})

    def bias(self, q: Tensor, *, num_keys: int, offset: int = 0) -> Tensor:
        """Return the biases, (1, H, T, S), in the type of the table."""
        distance = distances(q.size(2), num_keys, offset=offset, device=q.device)
        # (T+S-1, H) -> (H, T+S-1)
        biases = F.embedding(self.buckets(distance), self.weights["biases"]).t()
        return by_query_and_key(biases, num_keys=num_keys)[None]

    def buckets(self, distance: Tensor) -> Tensor:
        """Return the bucket of each distance j - i, as T5 has them."""
        if self.bidirectional:
            num_buckets, first = self.num_buckets // 2, (distance > 0) * (self.num_buckets // 2)
            distance = distance.abs()
        else:
            num_buckets, first = self.num_buckets, torch.zeros_like(distance)
            distance = -distance.clamp(max=0)
        exact = num_buckets // 2
        # in float32, as T5: in float64 a distance at the edge of a bucket falls into the other one
        share = torch.log(distance.clamp(min=1).float() / exact) / math.log(self.max_distance / exact)
        logarithmic = (exact + (share * (num_buckets - exact)).long()).clamp(max=num_buckets - 1)
        return first + torch.where(distance < exact, distance, logarithmic)
