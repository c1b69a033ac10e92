"""Frequency schedules: how fast each pair of dimensions rotates."""

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor


class Frequencies(NamedTuple):
    """theta: radians a token of each pair, (R/2,), float64 on the CPU; magnitude: factor of each rotated vector."""

    theta: Tensor
    magnitude: float = 1.0


# rotary size R -> frequencies
FrequencySchedule = Callable[[int], Frequencies]


def inverse_frequencies(rotary_dim: int, *, base: float) -> Frequencies:
    """Return theta_i = base^(-2(i-1)/R), i = 1 .. R/2 (RoFormer, section 3.2.2)."""
    exponents = torch.arange(0, rotary_dim, 2, dtype=torch.float64, device="cpu") / rotary_dim
    return Frequencies(base**-exponents)
