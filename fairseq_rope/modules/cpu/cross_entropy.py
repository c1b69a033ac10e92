"""fairseq's cross entropy for training on the CPU, in half the time.

fairseq computes all log-probabilities, in the backward pass a gradient for each of them, nearly all zeros, and from
both that of the logits. Here that gradient is made in the forward pass, from probabilities alone.
"""

from collections.abc import Callable
from typing import Any

import torch
from fairseq import modules
from torch import Tensor

from fairseq_rope.compat.wrapping import wrap
from fairseq_rope.modules.first_derivative import first_derivative_only


def replace_cross_entropy() -> None:
    """Let fairseq's `modules.cross_entropy`, the loss of `--criterion masked_lm`, be computed so."""
    wrap(modules, "cross_entropy", _cross_entropy)


def _cross_entropy(
    cross_entropy: Callable[..., Tensor],
    logits: Tensor,
    target: Tensor,
    ignore_index: int = -100,
    reduction: str = "mean",
) -> Tensor:
    if not _is_for_training(logits, reduction):
        return cross_entropy(logits, target, ignore_index, reduction)
    loss: Tensor = _SummedCrossEntropy.apply(logits, target, ignore_index)
    return loss


def _is_for_training(logits: Tensor, reduction: str) -> bool:
    is_plain = reduction == "sum" and logits.is_cpu and logits.dim() == 2
    return is_plain and logits.requires_grad and torch.is_grad_enabled()


class _SummedCrossEntropy(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, logits: Tensor, target: Tensor, ignore_index: int) -> Tensor:
        ignored = (target == ignore_index)[:, None]
        # (N,) -> (N, 1)
        wanted = target[:, None].masked_fill(ignored, 0)
        # in float32, as fairseq's, (N, V)
        probabilities = logits.softmax(dim=1, dtype=torch.float32)
        # the likeliest word's has the normalizer without loss of precision, (N, 1)
        normalizer = logits.amax(dim=1, keepdim=True) - probabilities.amax(dim=1, keepdim=True).log()
        losses = (normalizer - logits.gather(1, wanted)).float().masked_fill_(ignored, 0)
        # softmax - onehot
        grad = probabilities.scatter_(1, wanted, probabilities.gather(1, wanted) - 1)
        if ignored.any():
            grad.masked_fill_(ignored, 0)
        ctx.save_for_backward(grad.to(logits.dtype))
        return losses.sum()

    @staticmethod
    @first_derivative_only
    def backward(ctx: Any, grad_loss: Tensor) -> tuple[Tensor, None, None]:
        (grad,) = ctx.saved_tensors
        return (grad if grad_loss == 1 else grad * grad_loss), None, None
