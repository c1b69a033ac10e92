"""Frequency schedules: how fast each pair of dimensions rotates.

R is the rotary size, i = 0 .. R/2-1 numbers the pairs, theta_i = base^(-2i/R). A model that was trained on L tokens is
to read s x L: the others rotate slower, each its own way. All are fixed when a model is built, so that a key is
rotated once and a sentence's result does not depend on the others of its batch.
"""

import math
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

# YaRN's beta and alpha for Llama: pairs that turn more often than this in L tokens are kept, less often interpolated
_YARN_TURNS = (32, 1)
# the same of Llama 3.1: high_freq_factor and low_freq_factor
LLAMA3_TURNS = (4, 1)


def inverse_frequencies(rotary_dim: int, *, base: float) -> Frequencies:
    """Return theta_i = base^(-2i/R) (RoFormer, section 3.2.2)."""
    exponents = torch.arange(0, rotary_dim, 2, dtype=torch.float64, device="cpu") / rotary_dim
    return Frequencies(base**-exponents)


def linear(rotary_dim: int, *, base: float, factor: float) -> Frequencies:
    """Return theta_i / s: position interpolation (Chen et al., arXiv 2306.15595, eq. 4)."""
    return Frequencies(inverse_frequencies(rotary_dim, base=base).theta / factor)


def ntk(rotary_dim: int, *, base: float, factor: float) -> Frequencies:
    """Return the frequencies of the base b s^(R/(R-2)): "NTK-aware" (arXiv 2309.00071, section 3.1); R is at least 4.

    That is theta_i s^(-2i/(R-2)): the first pair is kept, the last one slowed down by s.
    """
    pairs = torch.arange(0, rotary_dim, 2, dtype=torch.float64, device="cpu")
    return Frequencies(inverse_frequencies(rotary_dim, base=base).theta * factor ** (-pairs / (rotary_dim - 2)))


def yarn(rotary_dim: int, *, base: float, factor: float, original_length: int) -> Frequencies:
    """Return YaRN's frequencies and magnitude (Peng et al., arXiv 2309.00071, sections 3.2 and 3.4); base above 1.

    Pairs that turn more than 32 times in L tokens are kept, those that turn less than once are slowed down by s, and
    between the two it is a ramp over whole pairs up to R-1, as in the authors' code. The magnitude is 0.1 ln s + 1.
    """
    theta = inverse_frequencies(rotary_dim, base=base).theta
    # the pair that turns so often: R ln(L / (2 pi turns)) / (2 ln b)
    first, last = (
        rotary_dim * math.log(original_length / (2 * math.pi * turns)) / (2 * math.log(base)) for turns in _YARN_TURNS
    )
    low = max(math.floor(first), 0)
    high = max(min(math.ceil(last), rotary_dim - 1), low + 0.001)  # a ramp without a width is a step
    slowed = ((torch.arange(rotary_dim // 2, dtype=torch.float64, device="cpu") - low) / (high - low)).clamp(0, 1)
    return Frequencies(theta * (1 - slowed) + theta / factor * slowed, 0.1 * math.log(factor) + 1)


def llama3(rotary_dim: int, *, base: float, factor: float, original_length: int) -> Frequencies:
    """Return the frequencies of Llama 3.1 (`apply_scaling` of its code).

    Pairs that turn more than 4 times in L tokens are kept, those that turn less than once are slowed down by s; between
    the two the share that is kept grows with the turns.
    """
    theta = inverse_frequencies(rotary_dim, base=base).theta
    high, low = LLAMA3_TURNS
    turns = original_length * theta / (2 * math.pi)
    kept = ((turns - low) / (high - low)).clamp(0, 1)
    return Frequencies(theta * kept + theta / factor * (1 - kept))
