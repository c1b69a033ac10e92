"""How scores of rotated queries and keys can fall with distance (RoFormer, sections 3.3 and 3.4.3).

The score of a query n positions away from its key is Re sum_i h_i e^(i n theta_i), h_i = q_i k_i* being the product of
pair i as complex numbers (eq. 35), i = 0 .. D/2-1. Dimensions that do not rotate are pairs of theta = 0.
"""

import torch
from torch import Tensor

from fairseq_rope.modules.positions.rotary import RotaryEmbedding
from fairseq_rope.modules.positions.xpos import XPos


def relative_phasors(method: RotaryEmbedding, distances: Tensor, *, head_dim: int) -> Tensor:
    """Return what multiplies h_i at each distance, e^(i n theta_i) times the magnitudes of query and key.

    Args:
        method: what a stack rotates by; its schedule and magnitude are those of the model.
        distances: n, the query's position less the key's, (N,).
        head_dim: D, even.

    Returns: (N, D/2), complex128.

    Raises:
        ValueError: D is odd.
    """
    if head_dim % 2:
        raise ValueError(f"a head's dimensions must be pairs, but are {head_dim}")
    n = distances.double()[:, None]
    size = torch.full_like(n * method.theta, method.magnitude**2)
    if isinstance(method, XPos):
        size = size * (n * method.log_zeta).exp()
    rotated = torch.polar(size, n * method.theta)
    passed = rotated.new_ones(len(distances), (head_dim - method.rotary_dim) // 2)
    return torch.cat((rotated, passed), dim=-1)


def decay_bound(phasors: Tensor) -> Tensor:
    """Return B(n) = 1/(D/2) sum_j |S_j|, S_j the sum of the first j phasors, j = 1 .. D/2 (RoFormer, eq. 37, figure 2).

    A score is at most D/2 B(n) max_i |h_(i+1) - h_i|, with h_(D/2) = 0.

    Args:
        phasors: (N, D/2), as `relative_phasors` returns them.

    Returns: (N,).
    """
    return phasors.cumsum(dim=-1).abs().mean(dim=-1)


def mean_cosine(phasors: Tensor) -> Tensor:
    """Return 2/D sum_i cos(n theta_i), (N,): the score of a query and a key that are equal in all pairs, as at n = 0.

    Args:
        phasors: (N, D/2), as `relative_phasors` returns them.
    """
    return phasors.real.mean(dim=-1)


def upward_steps(values: Tensor) -> int:
    """Return how often a value (N,) is larger than the one before it."""
    return int((values.diff() > 0).sum())
