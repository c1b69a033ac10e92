"""Attention over given queries, keys and values, and the masks of its scores.

Axes: B batch, H heads, T query length, S key length, D head size.
"""

import torch
import torch.nn.functional as F
from fairseq.modules import FairseqDropout
from torch import Tensor

# an attn_mask that stands for causality: T = S and no key after its query; no mask is made where the kernel needs none
CAUSAL = torch.empty(0)
# queries of a sentence up to which, and rows of scores from which, plain products beat the CPU's fused kernel
_FEW_QUERIES, _MANY_ROWS = 8, 32


def attend(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    *,
    attn_mask: Tensor | None,
    key_padding_mask: Tensor | None,
    dropout: FairseqDropout,
    need_weights: bool,
) -> tuple[Tensor, Tensor | None]:
    """Give softmax(q k^T / sqrt(D) + masks) v.

    Args:
        q: (B, H, T, D).
        k: (B, H, S, D).
        v: (B, H, S, D).
        attn_mask: (T, S), added to the scores, or true where a key is hidden; or CAUSAL.
        key_padding_mask: (B, S), true at padding.
        dropout: for the probabilities.
        need_weights: return the probabilities before dropout, (B, H, T, S).

    Returns: (B, H, T, D), and the probabilities or None.
    """
    p = float(dropout.p) if dropout.training or dropout.apply_during_inference else 0.0
    # no fused kernel takes p = 1
    if need_weights or _is_step(q) or p == 1:
        attended, weights = _attend_with_weights(q, k, v, _bias(attn_mask, key_padding_mask, q), dropout)
        return attended, weights if need_weights else None
    if attn_mask is not None and attn_mask.numel() == 0 and key_padding_mask is None:
        return F.scaled_dot_product_attention(q, k, v, None, p, is_causal=True), None
    return F.scaled_dot_product_attention(q, k, v, _bias(attn_mask, key_padding_mask, q), p), None


def _is_step(q: Tensor) -> bool:
    """Tell whether it is a step of a search on the CPU, with few queries in each of many rows, and no backward pass."""
    is_search = q.device.type == "cpu" and not torch.is_grad_enabled()
    return is_search and q.size(2) <= _FEW_QUERIES and q.size(0) * q.size(1) >= _MANY_ROWS


def _attend_with_weights(
    q: Tensor, k: Tensor, v: Tensor, bias: Tensor | None, dropout: FairseqDropout
) -> tuple[Tensor, Tensor]:
    # (B, H, T, D), (B, H, S, D) -> (B, H, T, S)
    scores = (q * q.size(-1) ** -0.5) @ k.transpose(-2, -1)
    if bias is not None:
        scores = scores + bias
    weights = scores.softmax(dim=-1, dtype=torch.promote_types(q.dtype, torch.float32)).type_as(q)
    return dropout(weights) @ v, weights


def _bias(attn_mask: Tensor | None, key_padding_mask: Tensor | None, q: Tensor) -> Tensor | None:
    """Join both masks into what is added to the scores: broadcastable to (B, H, T, S), in the type of `q`.

    Hidden keys get a finite value far below any score: with -inf a row without a visible key would be NaN.
    """
    if attn_mask is None and key_padding_mask is None:
        return None
    hidden = torch.finfo(q.dtype).min / 2
    bias = None
    if attn_mask is not None:
        if attn_mask.numel() == 0:
            attn_mask = q.new_ones(q.size(2), q.size(2), dtype=torch.bool).triu_(1)
        if attn_mask.dtype == torch.bool:
            attn_mask = torch.zeros_like(attn_mask, dtype=q.dtype).masked_fill_(attn_mask, hidden)
        # (T, S) -> (1, 1, T, S)
        bias = attn_mask.to(q.dtype).clamp(min=hidden)[None, None]
    if key_padding_mask is not None:
        # (B, S) -> (B, 1, 1, S)
        padding = key_padding_mask.bool()[:, None, None]
        bias = (padding.new_zeros((), dtype=q.dtype) if bias is None else bias).masked_fill(padding, hidden)
    return bias
