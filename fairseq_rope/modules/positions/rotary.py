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
# x (..., T, R), turns (T, R/2), out (..., T, R) that may be x -> None; writes the rotated x into out.
Rotation = Callable[[Tensor, Tensor, Tensor], None]


def power_frequencies(rotary_dim: int, *, base: float) -> Tensor:
    """Give theta_i = base^(-2(i-1)/R), i = 1 .. R/2 (RoFormer, section 3.2.2), in radians a token.

    Returns: (R/2,), float64, on the CPU.
    """
    exponents = torch.arange(0, rotary_dim, 2, dtype=torch.float64, device="cpu") / rotary_dim
    return base**-exponents


def rotate_interleaved(x: Tensor, turns: Tensor, out: Tensor) -> None:
    """Rotate neighbours (x1, x2), (x3, x4), ... by their angles (RoFormer, eq. 34); norms are kept.

    Args:
        x: (..., T, R), float32 or float64.
        turns: e^(i angle) of each pair, (T, R/2), complex of the same width.
        out: where to write, like `x`, or `x` itself.
    """
    if not (_is_complex(x) and _is_complex(out)):
        rotated = x.clone(memory_format=torch.contiguous_format)
        rotate_interleaved(rotated, turns, rotated)
        out.copy_(rotated)
        return
    # (..., T, R) -> (..., T, R/2); a pair turns as a complex number times e^(i angle): one pass over memory
    x, out = (torch.view_as_complex(pairs.view(*pairs.shape[:-1], -1, 2)) for pairs in (x, out))
    torch.mul(x, turns, out=out)


def _is_complex(x: Tensor) -> bool:
    """Tell whether neighbours lie as the parts of complex numbers do."""
    return x.stride(-1) == 1 and not x.storage_offset() % 2 and not any(stride % 2 for stride in x.stride()[:-1])


def rotate_half(x: Tensor, turns: Tensor, out: Tensor) -> None:
    """Rotate pairs of the first half with the second: (x1, x_{R/2+1}), (x2, x_{R/2+2}), ...

    The layout of GPT-NeoX and Llama: `rotate_interleaved` up to a permutation of the axis R. Arguments as there.
    """
    cos, sin = turns.real, turns.imag
    first, second = x.chunk(2, dim=-1)
    turned = first * cos - second * sin, second * cos + first * sin
    for half, rotated in zip(out.chunk(2, dim=-1), turned, strict=True):
        half.copy_(rotated)


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
    position 1,000 off by up to 2 radians, and nothing of RoPE belongs in a checkpoint. The table of turns is made in
    float64, kept in the precision of float32, follows the tensors' device and grows with their length.
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
        self._turns = torch.empty(0, rotary_dim // 2, dtype=torch.complex64)

    def rotate(self, x: Tensor, *, offset: int = 0, back: bool = False, out: Tensor | None = None) -> Tensor:
        """Rotate `x` (..., T, D), queries or keys of any float type, whose first token stands at `offset`.

        Positions count every token, padding too, from 0: a score depends on differences only. Autograd doesn't see it.

        Args:
            x: (..., T, D).
            offset: position of the first token.
            back: rotate by the negative angles, as gradients are.
            out: where to write, like `x`; `x` itself rotates in place. None: a new tensor.

        Returns: `out`; computed in float32 (float64 for float64).
        """
        out = torch.empty_like(x) if out is None else out
        wide = torch.promote_types(x.dtype, torch.float32)
        turns = self.table(offset + x.size(-2), x.device)[offset:].to(wide.to_complex())
        rotated, passed = slice(self.rotary_dim), slice(self.rotary_dim, None)
        source = x.to(wide)
        target = out if out.dtype == wide else source
        self.rotation(source[..., rotated], turns.conj() if back else turns, target[..., rotated])
        if target is not out:
            out[..., rotated] = target[..., rotated]
        if out is not x and self.rotary_dim < x.size(-1):
            out[..., passed] = x[..., passed]
        return out

    def table(self, length: int, device: torch.device) -> Tensor:
        """Give e^(i angle) of the pairs at positions 0 .. length-1, (length, R/2), complex64, on `device`."""
        size = self._turns.size(0)
        if length > size:
            size = max(length, 2 * size)  # doubled, so that decoding step by step seldom fills it anew
        if size != self._turns.size(0) or device != self._turns.device:
            self._fill(size, device)
        return self._turns[:length]

    def _fill(self, length: int, device: torch.device) -> None:
        # A table that is first made while generating must still be usable by autograd later.
        with torch.inference_mode(False):
            # (N,), (R/2,) -> (N, R/2)
            angles = torch.outer(torch.arange(length, dtype=torch.float64, device="cpu"), self.theta)
            self._turns = torch.polar(torch.ones_like(angles), angles).to(device, torch.complex64)


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
