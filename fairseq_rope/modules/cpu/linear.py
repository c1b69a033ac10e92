"""Linear layers whose float32 products go through oneDNN on CPUs where that is faster: see `route`.

torch calls MKL for them, which on AMD's processors runs at less than half of what oneDNN reaches.
`torch.set_float32_matmul_precision("medium")` would change that for everything in the process, and compute in bfloat16
on processors with AMX. Here it is these layers alone, in full float32 unless that setting says otherwise.
"""

import functools
import logging
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from fairseq_rope.modules.cpu import onednn, route
from fairseq_rope.modules.cpu.packing import PackedLinear, pack
from fairseq_rope.modules.cpu.thresholds import MIN_LARGE_PRODUCTS, MIN_ONEDNN_PRODUCTS
from fairseq_rope.modules.first_derivative import first_derivative_only

_logger = logging.getLogger(__name__)


class Linear(nn.Linear):
    """`nn.Linear`, with the same numbers up to rounding."""

    # of the class, for layers become ours by their class alone
    packed: PackedLinear | None = None

    def forward(self, x: Tensor) -> Tensor:
        """Project `x` (..., in) to (..., out)."""
        product = None if self.packed is None else self.packed.product(x, self)
        return linear(x, self.weight, self.bias) if product is None else product

    def make_generation_fast_(self, **_: Any) -> None:
        """Pack the weight; fairseq calls it before a search, after which a model cannot be trained."""
        self.packed = pack(self)


def linear(x: Tensor, weight: Tensor, bias: Tensor | None, *, work: str | None = None) -> Tensor:
    """Return x W^T + b as `F.linear` does.

    Args:
        x: (..., in).
        weight: (out, in).
        bias: (out,) or None.
        work: one of `route.LARGE`, for a product of a training step though nothing here has gradients.

    Returns: (..., out).
    """
    if not x.is_cpu:  # where a search waits for Python most
        return F.linear(x, weight, bias)
    needs_bias = bias is not None and bias.requires_grad
    if torch.is_grad_enabled() and (x.requires_grad or weight.requires_grad or needs_bias):
        is_ours = _is_for_onednn(x, weight, large=route.LARGE, small=route.TRAINING)
        return _Linear.apply(x, weight, bias) if is_ours else F.linear(x, weight, bias)
    small = route.TRAINING if work else route.SEARCH
    is_ours = _is_for_onednn(x, weight, large=(work or route.FORWARD,), small=small)
    return _product(x, weight, bias) if is_ours else F.linear(x, weight, bias)


def _is_for_onednn(x: Tensor, weight: Tensor, *, large: tuple[str, ...], small: str) -> bool:
    """Return whether oneDNN makes any of the products `large`, or `small` where the layer is."""
    if not onednn.IS_USABLE:
        return False
    if x.dtype == torch.bfloat16:
        _tell_worth_of_bfloat16()
    is_float32 = x.dtype == weight.dtype == torch.float32
    products = x.numel() * weight.size(0)
    pays = x.dim() > 1 and products >= MIN_ONEDNN_PRODUCTS
    if not (is_float32 and pays and torch.backends.mkldnn.enabled) or torch.is_autocast_enabled("cpu"):
        return False
    works = large if products >= MIN_LARGE_PRODUCTS else (small,)
    return any(route.is_onednn(work, torchs=F.linear, onednn=_product) for work in works)


def _product(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    # for rows or columns with gaps between them oneDNN has a reference loop only, a thousand times slower
    weight = weight if weight.is_contiguous() or weight.T.is_contiguous() else weight.contiguous()
    # of a bias it reads whatever lies behind the first number
    return onednn.product(x, weight, None if bias is None else bias.contiguous())


class _Linear(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        ctx.save_for_backward(x, weight)
        return linear(x, weight, bias, work=route.FORWARD)

    @staticmethod
    @first_derivative_only
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        x, weight = ctx.saved_tensors
        # (..., out) -> (N, out), and as (..., in) -> (N, in)
        rows, grad_rows = x.flatten(0, -2), grad.flatten(0, -2)
        needs_x, needs_weight, needs_bias = ctx.needs_input_grad
        return (
            linear(grad_rows, weight.T, None, work=route.INPUT_GRADIENT).view(x.shape) if needs_x else None,
            linear(grad_rows.T, rows.T, None, work=route.WEIGHT_GRADIENT) if needs_weight else None,
            grad_rows.sum(dim=0) if needs_bias else None,
        )


@functools.cache
def _tell_worth_of_bfloat16() -> None:
    """Say once in the log what `--bf16` is worth on this processor, or costs."""
    float32 = _product if route.is_onednn(route.SEARCH, torchs=F.linear, onednn=_product) else F.linear
    gain = route.gain(route.BFLOAT16, torchs=float32, onednn=_bfloat16_product, prepare=Tensor.bfloat16)
    words = "products of bfloat16 are %.2f times as fast as those of float32 on this processor"
    if gain > 1:
        _logger.info(words, gain)
    else:
        _logger.warning(f"{words}: --bf16 costs speed and precision here", gain)


def _bfloat16_product(x: Tensor, weight: Tensor) -> Tensor:
    return F.linear(x.bfloat16(), weight)
