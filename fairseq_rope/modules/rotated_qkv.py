"""Rotated queries and keys, and values, in the memory of their one projection.

Axes: B batch, H heads, T length, D head size.
"""

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from fairseq_rope.modules.positions.rotary import RotaryEmbedding


def split(projected: Tensor, rotary: RotaryEmbedding, *, offset: int = 0) -> tuple[Tensor, Tensor, Tensor]:
    """Split a projection into rotated queries, rotated keys, and values.

    Rotated where they lie, with no copy to keep for the backward pass, which rotates the gradients back on their way
    into one tensor.

    Args:
        projected: (T, B, 3, H, D), which nothing else may read: it's overwritten.
        rotary: what rotates.
        offset: position of the first token.

    Returns: queries, keys and values, (B, H, T, D) each.
    """
    # in a search, where autograd is off, its bookkeeping would take as long as the rotation
    q, k, v = (_Split.apply if torch.is_grad_enabled() else _split)(projected, rotary, offset)
    return q, k, v


def _split(projected: Tensor, rotary: RotaryEmbedding, offset: int) -> tuple[Tensor, ...]:
    parts = _parts(projected)
    both = parts[:2]
    rotary.rotate(both, offset=offset, out=both)
    return parts.unbind()


class _Split(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, projected: Tensor, rotary: RotaryEmbedding, offset: int) -> tuple[Tensor, ...]:
        ctx.rotary, ctx.offset = rotary, offset
        return _split(projected.detach(), rotary, offset)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None, None]:
        batch, heads, length, head_dim = grads[0].shape
        projected = grads[0].new_empty(length, batch, 3, heads, head_dim)
        q, k, v = _parts(projected)
        for grad, out in zip(grads[:2], (q, k), strict=True):
            ctx.rotary.rotate(grad, offset=ctx.offset, back=True, out=out)
        v.copy_(grads[2])
        return projected, None, None


def _parts(projected: Tensor) -> Tensor:
    # (T, B, 3, H, D) -> (3, B, H, T, D)
    return projected.permute(2, 1, 3, 0, 4)
