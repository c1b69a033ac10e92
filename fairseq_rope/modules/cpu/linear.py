"""Linear layers whose float32 products go through oneDNN on CPUs where that is faster: see `route`.

torch calls MKL for them, which on AMD's processors runs at less than half of what oneDNN reaches.
`torch.set_float32_matmul_precision("medium")` would change that for everything in the process, and compute in bfloat16
on processors with AMX. Here it is these layers alone, in full float32 unless that setting says otherwise.
"""

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from fairseq_rope.modules.cpu import route
from fairseq_rope.modules.cpu.thresholds import MIN_ONEDNN_PRODUCTS


def onednn_product(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """Return `F.linear(x, weight, bias)` by oneDNN."""
    # private to torch, which uses it in compiled models; the last three: no function fused behind the product
    product: Tensor = torch.ops.mkldnn._linear_pointwise(x, weight, bias, "none", [], "")
    return product


def is_usable(product: Callable[[Tensor, Tensor, Tensor | None], Tensor] = onednn_product) -> bool:
    """Return whether oneDNN's product is there, takes these arguments and gives `F.linear`'s numbers."""
    x, weight, bias = torch.arange(12.0).view(4, 3), torch.arange(6.0).view(2, 3), torch.arange(2.0)
    try:
        return torch.backends.mkldnn.is_available() and all(
            torch.allclose(product(x, weight, b), F.linear(x, weight, b)) for b in (bias, None)
        )
    except Exception:  # another version of torch: all is as in nn.Linear
        return False


_IS_USABLE = is_usable()


class Linear(nn.Linear):
    """`nn.Linear`, with the same numbers up to rounding."""

    def forward(self, x: Tensor) -> Tensor:
        """Project `x` (..., in) to (..., out)."""
        return linear(x, self.weight, self.bias)


def linear(x: Tensor, weight: Tensor, bias: Tensor | None, *, training: bool = False) -> Tensor:
    """Return x W^T + b as `F.linear` does.

    Args:
        x: (..., in).
        weight: (out, in).
        bias: (out,) or None.
        training: whether it is a product of a training step though nothing here has gradients.

    Returns: (..., out).
    """
    has_gradients = torch.is_grad_enabled() and (x.requires_grad or weight.requires_grad)
    if not _is_for_onednn(x, weight, training=training or has_gradients):
        return F.linear(x, weight, bias)
    if has_gradients:
        return _Linear.apply(x, weight, bias)
    return _product(x, weight, bias)


def _is_for_onednn(x: Tensor, weight: Tensor, *, training: bool) -> bool:
    if not _IS_USABLE:
        return False
    is_float32 = x.device.type == "cpu" and x.dtype == weight.dtype == torch.float32
    is_large = x.dim() > 1 and x.numel() * weight.size(0) >= MIN_ONEDNN_PRODUCTS
    if not (is_float32 and is_large and torch.backends.mkldnn.enabled) or torch.is_autocast_enabled("cpu"):
        return False
    return route.is_onednn(training, torchs=F.linear, onednn=_product)


def _product(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    # for rows or columns with gaps between them oneDNN has a reference loop only, a thousand times slower
    weight = weight if weight.is_contiguous() or weight.T.is_contiguous() else weight.contiguous()
    return onednn_product(x, weight, bias)


class _Linear(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        ctx.save_for_backward(x, weight)
        return _product(x, weight, bias)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        x, weight = ctx.saved_tensors
        # (..., out) -> (N, out), and as (..., in) -> (N, in)
        rows, grad_rows = x.flatten(0, -2), grad.flatten(0, -2)
        needs_x, needs_weight, needs_bias = ctx.needs_input_grad
        return (
            _product(grad_rows, weight.T).view(x.shape) if needs_x else None,
            _product(grad_rows.T, rows.T) if needs_weight else None,
            grad_rows.sum(dim=0) if needs_bias else None,
        )
