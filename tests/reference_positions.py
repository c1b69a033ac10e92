"""Position methods but rotation, each number by itself, as the formulas of their papers say."""

import math

import torch
from torch import Tensor

SHAW_CLIP = 16
_PADDING_IDX = 1


def absolute(m: int, size: int, table: Tensor | None, *, scale: float = 1.0) -> Tensor:
    """Return what is added to the embedding of the token at `m`: a row of a learned `table`, or `scale` sinusoids.

    fairseq's have the scale 1.
    It counts from the index of padding plus 1, and has all sines before all cosines, as tensor2tensor.
    """
    position = m + _PADDING_IDX + 1
    if table is not None:
        return table[position].double()
    half = size // 2
    angles = [position * math.exp(-i * math.log(10000) / (half - 1)) for i in range(half)]
    row = [math.sin(angle) for angle in angles] + [math.cos(angle) for angle in angles]
    return scale * torch.tensor(row + [0.0] * (size % 2), dtype=torch.float64)


def xpos_stretch(position: int, head_dim: int, *, rotary_dim: int, layout: str, **_: object) -> Tensor:
    """Return the diagonal matrix of zeta_i^(position/512) (Sun et al., 2212.10554, algorithm 1), (D, D)."""
    diagonal = torch.ones(head_dim, dtype=torch.float64)
    for i in range(rotary_dim // 2):
        zeta = (i / (rotary_dim / 2) + 0.4) / 1.4
        a, b = (2 * i, 2 * i + 1) if layout == "interleaved" else (i, i + rotary_dim // 2)
        diagonal[a] = diagonal[b] = zeta ** (position / 512)
    return diagonal.diag()


def alibi_slope(head: int, num_heads: int) -> float:
    """Return the slope of a head (Press et al., 2108.12409, section 3, and the authors' rule for other numbers)."""
    power = 1
    while 2 * power <= num_heads:
        power *= 2
    if head < power:
        return 2.0 ** (-8 * (head + 1) / power)
    return 2.0 ** (-8 * (2 * (head - power) + 1) / (2 * power))


def t5_bucket(distance: int, *, bidirectional: bool, buckets: int = 32, furthest: int = 128) -> int:
    """Return the bucket of a key at `distance` from its query (Raffel et al., 1910.10683)."""
    first = 0
    if bidirectional:
        buckets //= 2
        first = buckets if distance > 0 else 0
        distance = abs(distance)
    else:
        distance = max(-distance, 0)
    exact = buckets // 2
    if distance < exact:
        return first + distance
    share = math.log(distance / exact) / math.log(furthest / exact)
    return first + min(buckets - 1, exact + int(share * (buckets - exact)))
