"""The order of a head's dimensions in each layout of rotary pairs, and how one becomes the other."""

import torch
from torch import Tensor


def pair_order(head_dim: int, rotary_dim: int, *, source: str, target: str) -> Tensor:
    """Give which dimension of a head in layout `source` stands at each place of a head in layout `target`.

    Queries and keys that are both reordered by it keep their products, so that a model only changes its layout.

    Args:
        head_dim: D.
        rotary_dim: R; the dimensions from R on do not rotate and stay where they are.
        source: the model's `--rope-layout`.
        target: the wanted one.

    Returns: (D,), a permutation of 0 .. D-1.
    """
    dimensions = torch.arange(head_dim)
    if source == target:
        return dimensions
    # (R,) -> (R/2, 2) -> (2, R/2) -> (R,): first all first ones of the neighbour pairs, then all second ones
    to_half = dimensions[:rotary_dim].view(-1, 2).t().flatten()
    pairs = to_half if target == "half" else to_half.argsort()
    return torch.cat((pairs, dimensions[rotary_dim:]))
