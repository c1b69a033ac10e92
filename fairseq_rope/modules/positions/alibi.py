"""ALiBi: attention with linear biases (Press et al., arXiv 2108.12409, section 3)."""

import torch
from torch import Tensor

from fairseq_rope.modules.positions.base import PositionMethod
from fairseq_rope.modules.positions.distances import by_query_and_key, distances


class ALiBi(PositionMethod):
    """Adds -slope_h |j - i| to the scores of head h.

    In an encoder, which sees both directions, the bias is symmetric: keys at equal distances on both sides are
    treated alike, so that order is known through the decoder and the edges of the sentence only.
    """

    def __init__(self, num_heads: int):
        self._slopes = self._slopes_there = alibi_slopes(num_heads)

    def bias(self, q: Tensor, *, num_keys: int, offset: int = 0) -> Tensor:
        """Return the biases, (1, H, T, S), float32."""
        slopes = self._slopes_there
        if slopes.device != q.device:
            # kept, for in each copy to a GPU the host waits; and usable by autograd after a search
            with torch.inference_mode(False):
                self._slopes_there = slopes = self._slopes.to(q.device)
        distance = distances(q.size(2), num_keys, offset=offset, device=q.device)
        # (H, 1) * (T+S-1,) -> (H, T+S-1)
        biases = -slopes[:, None] * distance.abs()
        return by_query_and_key(biases, num_keys=num_keys)[None]


def alibi_slopes(num_heads: int) -> Tensor:
    """Return the slope of each head, (H,), float32.

    2^(-8h/H), h = 1 .. H, where H is a power of 2. Otherwise those of the next smaller power, then every second one of
    the next larger power, as in the authors' code.
    """
    power = 2 ** (num_heads.bit_length() - 1)
    slopes = [2 ** (-8 * h / power) for h in range(1, power + 1)]
    slopes += [2 ** (-8 * h / (2 * power)) for h in range(1, 2 * power, 2)]
    return torch.tensor(slopes[:num_heads])
