"""Softmax attention over given queries, keys and values, and the masks of its scores."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from threading import Lock

import torch
import torch.nn.functional as F
from fairseq.modules import FairseqDropout
from torch import Tensor

from fairseq_rope.modules.cpu.attention import attend_in_parts
from fairseq_rope.modules.cpu.dropout import ALL, Dropout
from fairseq_rope.modules.cpu.thresholds import MAX_SHORT_LENGTH, MAX_STEP_QUERIES, MIN_STEP_ROWS
from fairseq_rope.modules.padding import Padding, hidden

# an attn_mask that stands for causality, T = S: no mask is made where the kernel needs none; fairseq's layers pass
# tensors only
CAUSAL = torch.empty(0)
# tokens from which FlashAttention is the faster one; 25,000 tokens in bfloat16 on an H100, 2026-11-27
MIN_FLASH_LENGTH = 128
# torch's choice of kernels is the process's: one thread at a time changes it and sets it back
_CHOICE = Lock()


def is_causal(attn_mask: Tensor | None) -> bool:
    """Return whether the mask is CAUSAL, or a copy of it."""
    return attn_mask is not None and attn_mask.numel() == 0


def attend(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    *,
    attn_mask: Tensor | None,
    key_padding_mask: Padding | None,
    dropout: FairseqDropout,
    need_weights: bool,
    position_bias: Tensor | None = None,
    added_values: Callable[[Tensor], Tensor] | None = None,
) -> tuple[Tensor, Tensor | None]:
    """Return softmax(q k^T / sqrt(D) + bias + masks) v, and the probabilities on request.

    Args:
        q: (B, H, T, D).
        k: (B, H, S, D).
        v: (B, H, S, D).
        attn_mask: (T, S), added to the scores, or true where a key is hidden; or CAUSAL.
        key_padding_mask: (B, S).
        dropout: for the probabilities.
        need_weights: return the probabilities before dropout, (B, H, T, S).
        position_bias: added to the scores, broadcastable to (B, H, T, S).
        added_values: map from the probabilities, after dropout, to what is added to the result.

    Returns: (B, H, T, D), and the probabilities or None, of the type of `q`.
    """
    given = q.dtype
    if q.device.type == "cpu":
        # torch's kernels of half precision are slower there, in training up to 3 times in bfloat16, 12 in float16
        q, k, v = (x.to(torch.promote_types(given, torch.float32)) for x in (q, k, v))
    p = float(dropout.p) if dropout.training or dropout.apply_during_inference else 0.0
    # no fused kernel takes p = 1, and the CPU's takes none: torch's other one drops at a higher cost than ours
    is_dropped = p == 1 or (p > 0 and q.device.type == "cpu")
    is_plain = need_weights or added_values is not None or _is_step(q) or is_dropped
    dtype = q.dtype
    if position_bias is not None and is_plain:
        # far positions stay exact in half precision; fused kernels want a bias of the queries' type
        dtype = torch.promote_types(dtype, position_bias.dtype)
    can_be_parts = not need_weights and added_values is None
    kept = _kept_in_parts(q, k, (position_bias, attn_mask), dropout, p) if can_be_parts else None
    causal = is_causal(attn_mask) and key_padding_mask is None and position_bias is None
    is_fused = kept is None and not is_plain
    bias = None if causal and is_fused else _bias(q, attn_mask, key_padding_mask, position_bias, dtype)
    if kept is not None:
        return attend_in_parts(q, k, v, bias, kept).to(given), None
    if is_plain:
        attended, weights = _attend_with_weights(q, k, v, bias, dropout, added_values)
        return attended.to(given), weights.to(given) if need_weights else None
    with nullcontext() if q.device.type == "cpu" else _fast_kernels(q, k):
        return F.scaled_dot_product_attention(q, k, v, bias, p, causal).to(given), None


@contextmanager
def _fast_kernels(q: Tensor, k: Tensor) -> Iterator[None]:
    """Leave out kernels of a GPU that are slow for queries and keys of these sizes; a user's choice comes back.

    cuDNN makes a plan for every new shape, which takes the host a tenth of a second and more (pytorch/pytorch#155958).
    FlashAttention's backward pass is slower than the memory-efficient kernel's for short sentences; that one wants
    dimensions in eights.
    """
    kernels = torch.backends.cuda
    is_short = max(q.size(2), k.size(2)) < MIN_FLASH_LENGTH
    with _CHOICE:
        chosen = kernels.cudnn_sdp_enabled(), kernels.flash_sdp_enabled()
        other = is_short and q.size(3) % 8 == 0 and kernels.mem_efficient_sdp_enabled()
        kernels.enable_cudnn_sdp(False)
        kernels.enable_flash_sdp(chosen[1] and not other)
        try:
            yield
        finally:
            kernels.enable_cudnn_sdp(chosen[0])
            kernels.enable_flash_sdp(chosen[1])


def _is_step(q: Tensor) -> bool:
    """Return whether it is a step of a search on the CPU: few queries in each of many rows, and no backward pass."""
    is_search = q.device.type == "cpu" and not torch.is_grad_enabled()
    return is_search and q.size(2) <= MAX_STEP_QUERIES and q.size(0) * q.size(1) >= MIN_STEP_ROWS


def _kept_in_parts(
    q: Tensor, k: Tensor, biases: tuple[Tensor | None, ...], dropout: FairseqDropout, p: float
) -> int | None:
    """Return how many of 2^16 probabilities are kept where attention goes in parts, or None.

    Without dropout that is in training on short sentences: with its backward pass the fused kernel is slow there.
    """
    has_gradient = any(bias is not None and bias.requires_grad for bias in biases)
    if q.device.type != "cpu" or has_gradient or torch.is_autocast_enabled("cpu"):
        return None
    if p > 0:
        return dropout.kept() if isinstance(dropout, Dropout) else None
    is_training = torch.is_grad_enabled() and (q.requires_grad or k.requires_grad)
    return ALL if is_training and max(q.size(2), k.size(2)) <= MAX_SHORT_LENGTH else None


def _attend_with_weights(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    bias: Tensor | None,
    dropout: FairseqDropout,
    added_values: Callable[[Tensor], Tensor] | None,
) -> tuple[Tensor, Tensor]:
    # (B, H, T, D), (B, H, S, D) -> (B, H, T, S)
    scores = (q * q.size(-1) ** -0.5) @ k.transpose(-2, -1)
    if bias is not None:
        scores = scores + bias
    weights = scores.softmax(dim=-1, dtype=torch.promote_types(q.dtype, torch.float32)).type_as(q)
    dropped = dropout(weights)
    attended = dropped @ v
    return attended if added_values is None else attended + added_values(dropped), weights


def _bias(
    q: Tensor,
    attn_mask: Tensor | None,
    key_padding_mask: Padding | None,
    position_bias: Tensor | None,
    dtype: torch.dtype,
) -> Tensor | None:
    """Return what is added to the scores, broadcastable to (B, H, T, S), in `dtype`, or None."""
    bias = None if position_bias is None else position_bias.to(dtype)
    if attn_mask is not None:
        if is_causal(attn_mask):
            attn_mask = q.new_ones(q.size(2), q.size(2), dtype=torch.bool).triu_(1)
        if attn_mask.dtype == torch.bool:
            attn_mask = torch.zeros_like(attn_mask, dtype=dtype).masked_fill_(attn_mask, hidden(dtype))
        # (T, S) -> (1, 1, T, S)
        mask = attn_mask.to(dtype).clamp(min=hidden(dtype))[None, None]
        bias = mask if bias is None else (bias + mask).clamp(min=hidden(dtype))
    if key_padding_mask is not None:
        if bias is None:
            return key_padding_mask.bias(dtype)
        # (B, S) -> (B, 1, 1, S)
        bias = bias.masked_fill(key_padding_mask.mask[:, None, None], hidden(dtype))
    return bias
