"""Softmax attention for training on the CPU, in parts whose scores its caches hold."""

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from fairseq_rope.modules.cpu.dropout import ALL, draw_mask, scale_of
from fairseq_rope.modules.cpu.thresholds import MAX_SCORES
from fairseq_rope.modules.first_derivative import first_derivative_only


def attend_in_parts(q: Tensor, k: Tensor, v: Tensor, bias: Tensor | None, kept: int) -> Tensor:
    """Return dropout(softmax(q k^T / sqrt(D) + bias)) v, whose backward pass keeps 4 bytes a score, or 5 with dropout.

    Args:
        q: (B, H, T, D), float32 or float64.
        k: (B, H, S, D).
        v: (B, H, S, D).
        bias: broadcastable to (B, H, T, S), which gets no gradient, or None.
        kept: how often a probability is kept, see `Dropout.kept`; ALL: without dropout.

    Returns: (B, H, T, D).
    """
    attended: Tensor = _Attention.apply(q, k, v, bias, kept)
    return attended


class _Attention(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, q: Tensor, k: Tensor, v: Tensor, bias: Tensor | None, kept: int) -> Tensor:
        q, k, v = q.contiguous(), k.contiguous(), v.contiguous()
        ctx.temperature, ctx.scale = q.size(-1) ** -0.5, scale_of(kept)
        weights = q.new_empty(*q.shape[:3], k.size(2))
        attended = torch.empty_like(q)
        mask = None if kept == ALL else draw_mask(weights.shape, kept)
        if bias is not None:
            bias = bias.expand_as(weights)
        for part, (pq, pk, pv, pw, pa) in _parts(weights, q, k, v, weights, attended):
            scores = _product(pq, pk.transpose(1, 2), ctx.temperature, out=torch.empty_like(pw))
            if bias is not None:
                scores.view_as(weights[part]).add_(bias[part])
            torch.softmax(scores, dim=-1, out=pw)
            dropped = pw if mask is None else torch.mul(pw, mask[part].view_as(pw), out=scores)
            _product(dropped, pv, ctx.scale, out=pa)
        ctx.save_for_backward(q, k, v, weights, mask)
        return attended

    @staticmethod
    @first_derivative_only
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        q, k, v, weights, mask = ctx.saved_tensors
        grads = torch.empty_like(q), torch.empty_like(k), torch.empty_like(v)
        for part, (pq, pk, pv, pw, pg, *pgrads) in _parts(weights, q, k, v, weights, grad.contiguous(), *grads):
            pm, scores = None if mask is None else mask[part].view_as(pw), torch.empty_like(pw)
            dropped = pw if pm is None else torch.mul(pw, pm, out=scores)
            _product(dropped.transpose(1, 2), pg, ctx.scale, out=pgrads[2])
            _product(pg, pv.transpose(1, 2), ctx.scale, out=scores)
            if pm is not None:
                scores.mul_(pm)
            scores = torch._softmax_backward_data(scores, pw, -1, pw.dtype)
            _product(scores, pk, ctx.temperature, out=pgrads[0])
            _product(scores.transpose(1, 2), pq, ctx.temperature, out=pgrads[1])
        return *grads, None, None


def _parts(weights: Tensor, *tensors: Tensor) -> Iterator[tuple[slice, tuple[Tensor, ...]]]:
    """Yield some sentences after others, of `weights` (B, H, T, S) at most MAX_SCORES or those of one sentence.

    Yields: which, and theirs of each of `tensors`, (B, H, ...), as (rows, ...).
    """
    step = max(1, MAX_SCORES // max(1, weights[:1].numel()))
    for start in range(0, len(weights), step):
        part = slice(start, start + step)
        yield part, tuple(tensor[part].flatten(0, 1) for tensor in tensors)


def _product(a: Tensor, b: Tensor, factor: float, *, out: Tensor) -> Tensor:
    """Write `factor` times the products of `a` (N, T, D) and `b` (N, D, S) into `out`, (N, T, S)."""
    return torch.baddbmm(out, a, b, beta=0, alpha=factor, out=out)
