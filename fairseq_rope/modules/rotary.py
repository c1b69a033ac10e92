"""Rotary position embedding (RoFormer, Su et al., arXiv 2104.09864): frequencies, tables and the rotation.

Knows torch and nothing else. Axes: B batch, H heads, T length, D head size, R rotary size (R <= D, even).
"""

import functools
import math
from collections.abc import Callable

import torch
from torch import Tensor

# What a later context extension replaces: rotary size R -> angle per position of each pair, (R/2,), float64.
FrequencySchedule = Callable[[int], Tensor]
# x (..., T, R), cosines (T, R/2), sines (T, R/2) -> rotated x, (..., T, R).
Rotation = Callable[[Tensor, Tensor, Tensor], Tensor]


def power_frequencies(rotary_dim: int, *, base: float) -> Tensor:
    """Give theta_i = base^(-2(i-1)/R), i = 1 .. R/2 (RoFormer, section 3.2.2), in radians a token.

    Returns: (R/2,), float64, on the CPU.
    """
    exponents = torch.arange(0, rotary_dim, 2, dtype=torch.float64, device="cpu") / rotary_dim
    return base**-exponents


def rotate_interleaved(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Rotate neighbours (x1, x2), (x3, x4), ... by their angles (RoFormer, eq. 34).

    Args:
        x: (..., T, R).
        cos: cosine of each pair's angle, (T, R/2).
        sin: sine of each pair's angle, (T, R/2).

    Returns: (..., T, R) in the wider of the types of `x` and the table; norms are kept.
    """
    x = x.to(torch.promote_types(x.dtype, torch.float32))
    if x.stride(-1) != 1 or x.storage_offset() % 2 or any(stride % 2 for stride in x.stride()[:-1]):
        x = x.contiguous()  # or pairs do not lie as complex numbers do
    # (..., T, R) -> (..., T, R/2); a pair turns as a complex number times e^(i angle): one pass over memory
    pairs = torch.view_as_complex(x.unflatten(-1, (-1, 2)))
    return torch.view_as_real(pairs * torch.complex(cos.to(x.dtype), sin.to(x.dtype))).flatten(-2)


def rotate_half(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Rotate pairs of the first half with the second: (x1, x_{R/2+1}), (x2, x_{R/2+2}), ...

    The layout of GPT-NeoX and Llama: `rotate_interleaved` up to a permutation of the axis R. Arguments as there.
    """
    first, second = x.chunk(2, dim=-1)
    return torch.cat((first * cos - second * sin, second * cos + first * sin), dim=-1)


LAYOUTS: dict[str, Rotation] = {"interleaved": rotate_interleaved, "half": rotate_half}


def rotary_size(head_dim: int, fraction: float) -> int:
    """Give how many of a head's dimensions rotate: `head_dim * fraction`, to the nearest integer.

    Raises:
        ValueError: the fraction is outside (0, 1], or the result is odd or zero.
    """
    if not 0 < fraction <= 1:
        raise ValueError(f"--rope-fraction must be in (0, 1], but is {fraction}")
    rotary_dim = round(head_dim * fraction)
    if rotary_dim % 2 or rotary_dim == 0:
        raise ValueError(
            f"--rope-fraction {fraction} of the head size {head_dim} gives a rotary size of {rotary_dim}, "
            "which must be even and above 0, because dimensions rotate in pairs"
        )
    return rotary_dim


class RotaryEmbedding:
    """Rotates queries and keys by their positions; one object serves all layers of a stack.

    Not a Module on purpose: `--fp16` and `--bf16` cast every registered buffer, which would put the angles at
    position 1,000 off by up to 2 radians, and nothing of RoPE belongs in a checkpoint. The table of cosines and
    sines is made in float64, kept in float32, follows the tensors' device and grows with their length.
    """

    def __init__(self, rotary_dim: int, *, frequencies: FrequencySchedule, rotation: Rotation = rotate_interleaved):
        """Make an embedding that rotates the first `rotary_dim` dimensions of each head and passes the others.

        Raises:
            ValueError: `rotary_dim` is odd or below 2.
        """
        if rotary_dim < 2 or rotary_dim % 2:
            raise ValueError(f"the rotary size must be even and above 0, but is {rotary_dim}")
        self.rotary_dim = rotary_dim
        self.theta = frequencies(rotary_dim)
        self.rotation = rotation
        self._cos = self._sin = torch.empty(0, rotary_dim // 2)

    def __call__(self, x: Tensor, *, offset: int = 0) -> Tensor:
        """Rotate `x` (..., T, D), queries or keys of any float type, whose first token stands at `offset`.

        Positions count every token, padding too, from 0: a score depends on differences only.

        Returns: same shape and type; computed in float32 (float64 for float64).
        """
        cos, sin = self.table(offset + x.size(-2), x.device)
        rotated, passed = x[..., : self.rotary_dim], x[..., self.rotary_dim :]
        rotated = self.rotation(rotated, cos[offset:], sin[offset:]).type_as(x)
        return torch.cat((rotated, passed), dim=-1) if passed.size(-1) else rotated

    def table(self, length: int, device: torch.device) -> tuple[Tensor, Tensor]:
        """Give the cosines and sines of positions 0 .. length-1, (length, R/2) each, float32, on `device`."""
        size = self._cos.size(0)
        if length > size:
            size = max(length, 2 * size)  # doubled, so that decoding step by step seldom fills it anew
        if size != self._cos.size(0) or device != self._cos.device:
            self._fill(size, device)
        return self._cos[:length], self._sin[:length]

    def _fill(self, length: int, device: torch.device) -> None:
        # A table that is first made while generating must still be usable by autograd later.
        with torch.inference_mode(False):
            # (N,), (R/2,) -> (N, R/2)
            angles = torch.outer(torch.arange(length, dtype=torch.float64, device="cpu"), self.theta)
            self._cos, self._sin = (fn(angles).to(device, torch.float32) for fn in (torch.cos, torch.sin))


def rotary_embedding(head_dim: int, *, base: float, fraction: float, layout: str) -> RotaryEmbedding:
    """Build what `--rope-base`, `--rope-fraction` and `--rope-layout` describe for heads of `head_dim` dimensions.

    Raises:
        ValueError: an option breaks its rule; the text names the option, the rule and the value.
    """
    if not 0 < base < math.inf:
        raise ValueError(f"--rope-base must be above 0 and finite, but is {base}")
    if layout not in LAYOUTS:
        raise ValueError(f"--rope-layout must be one of {', '.join(LAYOUTS)}, but is {layout!r}")
    frequencies = functools.partial(power_frequencies, base=base)
    return RotaryEmbedding(rotary_size(head_dim, fraction), frequencies=frequencies, rotation=LAYOUTS[layout])
