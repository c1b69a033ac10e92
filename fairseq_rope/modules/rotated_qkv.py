"""Queries and keys with their positions, and values, in the memory of their projection."""

from typing import Any

import torch
from torch import Tensor

from fairseq_rope.modules.first_derivative import first_derivative_only
from fairseq_rope.modules.positions.base import PositionMethod


def rotate_qkv_(
    projected: Tensor, method: PositionMethod, *, rotated: int = 2, offset: int = 0, positions: Tensor | None = None
) -> tuple[Tensor, ...]:
    """Rotate queries and keys where they lie, with no copy to keep for the backward pass.

    Args:
        projected: (T, B, P, H, D), which nothing else may read: it is overwritten. P is 3, queries, keys and values, or
            less where some are projected apart.
        method: what rotates.
        rotated: how many of the P parts are queries and keys.
        offset: position of the first token.
        positions: (B, T), in place of `offset`.

    Returns: the P parts, (B, H, T, D) each.
    """
    # in a search, where autograd is off, its bookkeeping would take as long as the rotation
    rotate_ = _RotateQKV.apply if torch.is_grad_enabled() else _rotate_qkv_
    parts: tuple[Tensor, ...] = rotate_(projected, method, rotated, offset, positions)
    return parts


def _rotate_qkv_(
    projected: Tensor, method: PositionMethod, rotated: int, offset: int, positions: Tensor | None
) -> tuple[Tensor, ...]:
    parts = _as_parts(projected)
    method.rotate_(parts[:rotated], offset=offset, positions=positions)
    return parts.unbind()


class _RotateQKV(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, projected: Tensor, method: PositionMethod, rotated: int, offset: int, positions: Tensor | None
    ) -> tuple[Tensor, ...]:
        ctx.method, ctx.rotated, ctx.where = method, rotated, {"offset": offset, "positions": positions}
        ctx.shape, ctx.stride = projected.shape, projected.stride()
        return _rotate_qkv_(projected.detach(), method, rotated, offset, positions)

    @staticmethod
    @first_derivative_only
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        # in memory as the projection was: its own backward pass goes on from there
        projected = grads[0].new_empty_strided(ctx.shape, ctx.stride)
        parts = _as_parts(projected)
        for part, grad in zip(parts, grads, strict=True):
            part.copy_(grad)
        ctx.method.rotate_(parts[: ctx.rotated], **ctx.where, transpose=True)
        return projected, None, None, None, None


def _as_parts(projected: Tensor) -> Tensor:
    # (T, B, P, H, D) -> (P, B, H, T, D)
    return projected.permute(2, 1, 3, 0, 4)
