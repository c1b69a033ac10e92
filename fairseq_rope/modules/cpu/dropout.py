"""Dropout with masks that cost little on the CPU."""

import math
from collections.abc import Sequence
from typing import Any

import torch
from fairseq.modules import FairseqDropout
from torch import Tensor

from fairseq_rope.modules.first_derivative import first_derivative_only

_LEVELS = 1 << 16  # values of a 16-bit random number; one is drawn for each element
ALL = _LEVELS  # so many are kept without dropout
_ROUNDING = 1e-3  # of the rate at which elements are dropped or kept, whichever is rarer


class Dropout(FairseqDropout):
    """fairseq's dropout; on the CPU an element costs 16 random bits and not a sample of Bernoulli's distribution.

    `p` is then rounded to a multiple of 2^-16, and what is kept is scaled by the rounded one: means are kept exactly.
    Where that is a thousandth of `p` or of 1 - `p`, as only below 0.0077 and above 0.9923, it's torch's own dropout.
    """

    def forward(self, x: Tensor, inplace: bool = False) -> Tensor:
        """Drop elements of `x`, of any shape, when training or told to in inference."""
        if not (self.training or self.apply_during_inference):
            return x
        kept = self.kept()
        if kept is None or x.device.type != "cpu":
            return super().forward(x, inplace)
        return _Dropout.apply(x, kept)

    def kept(self) -> int | None:
        """Return how many of 2^16 elements are kept, or None where that is too rough."""
        kept = round((1 - self.p) * _LEVELS)
        is_fine = abs(kept / _LEVELS - (1 - self.p)) < _ROUNDING * min(self.p, 1 - self.p)
        return kept if is_fine else None


def draw_mask(shape: Sequence[int], kept: int) -> Tensor:
    """Return random numbers 1, `kept` of 2^16, and 0, of torch's generator, so that seeds and recomputation hold.

    They are bytes, for torch turns truth values into floating-point numbers eight times slower.
    """
    size = math.prod(shape)
    # four elements share a random number of 64 bits
    random = torch.empty(-(-size // 4), dtype=torch.int64, device="cpu").random_(-(2**63), None)
    mask = torch.empty(size, dtype=torch.uint8, device="cpu")
    return torch.lt(random.view(torch.int16)[:size], kept - _LEVELS // 2, out=mask).view(shape)


def scale_of(kept: int) -> float:
    """Return what elements are multiplied by when `kept` of 2^16 are kept."""
    return _LEVELS / kept


class _Dropout(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, kept: int) -> Tensor:
        mask = draw_mask(x.shape, kept)
        ctx.save_for_backward(mask)
        ctx.scale = scale_of(kept)
        return (x * mask).mul_(ctx.scale)

    @staticmethod
    @first_derivative_only
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        (mask,) = ctx.saved_tensors
        return (grad * mask).mul_(ctx.scale), None
