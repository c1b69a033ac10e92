"""Distances j - i of a key at j from a query at i, of which relative position methods are functions."""

import torch
from torch import Tensor


def distances(num_queries: int, num_keys: int, *, offset: int, device: torch.device) -> Tensor:
    """Return all distances of keys at 0 .. S-1 from queries at offset .. offset+T-1, in order, (T+S-1,)."""
    return torch.arange(-(offset + num_queries - 1), num_keys - offset, device=device)


def by_query_and_key(of_distance: Tensor, *, num_keys: int) -> Tensor:
    """Return what each key has for each query, (..., T, S), from what each of `distances` has, (..., T+S-1)."""
    # the window of the last query comes first: (..., T+S-1) -> (..., T, S)
    return of_distance.unfold(-1, num_keys, 1).flip(-2)
