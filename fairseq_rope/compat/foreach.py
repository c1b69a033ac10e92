"""An update does to all weights at once what fairseq does to one after another: gradients' norm, copies with `--bf16`.

Symptom: on a GPU a step waits for the host, which starts some thousand small kernels between the backward pass and
the next forward pass, ten for each weight. Without NVIDIA's apex the norm takes two of them a weight; `--bf16` takes
three more, for float32 gradients cleared and copied, and weights copied back (`--fp16` keeps them in one piece, unless
`--fp16-no-flatten-grads`). fairseq 0.12.2 and main; can go when fairseq uses torch's `_foreach_` functions there.
Values are the same.
"""

from collections.abc import Callable
from typing import Any

import torch
from fairseq import utils
from fairseq.optim.fp16_optimizer import _FP16OptimizerMixin as HalfPrecision
from torch import Tensor

from fairseq_rope.compat.wrapping import wrap


def update_all_at_once() -> None:
    """Let fairseq's trainers use torch's functions of lists of tensors."""
    if not utils.multi_tensor_l2norm_available:
        utils.multi_tensor_l2norm_available = True
        utils.multi_tensor_total_norm = total_norm
    wrap(HalfPrecision, "zero_grad", _zero_grad)
    wrap(HalfPrecision, "_sync_fp16_grads_to_fp32", _copy_gradients)
    wrap(HalfPrecision, "_sync_fp32_params_to_fp16", _copy_weights)


def total_norm(grads: list[Tensor]) -> Tensor:
    """Return the L2 norm of all gradients together, in float32.

    Args:
        grads: one or more, on one device or several; the norm is on that of the first.
    """
    norms = torch._foreach_norm(grads, 2, dtype=torch.float32)
    return torch.stack([norm.to(norms[0].device) for norm in norms]).norm()


def _zero_grad(zero_grad: Callable[..., None], optimizer: Any) -> None:
    if optimizer.has_flat_params:
        zero_grad(optimizer)
        return
    weights = optimizer.fp32_params
    _to_all(torch._foreach_zero_, [weight.grad for weight in weights if weight.grad is not None])
    optimizer.fp32_params = []  # the rest is fairseq's
    try:
        zero_grad(optimizer)
    finally:
        optimizer.fp32_params = weights


def _copy_gradients(copy: Callable[..., None], optimizer: Any) -> None:
    if optimizer.has_flat_params or not optimizer._needs_sync:
        copy(optimizer)
        return
    pairs = _trained(optimizer)
    if any(half.grad is None or weight.grad is None for half, weight in pairs):
        copy(optimizer)  # it makes them
        return
    _to_all(torch._foreach_copy_, [weight.grad for _, weight in pairs], [half.grad for half, _ in pairs])
    optimizer._needs_sync = False


@torch.no_grad()
def _copy_weights(copy: Callable[..., None], optimizer: Any) -> None:
    if optimizer.has_flat_params:
        copy(optimizer)
        return
    pairs = _trained(optimizer)
    _to_all(torch._foreach_copy_, [half for half, _ in pairs], [weight for _, weight in pairs])


def _trained(optimizer: Any) -> list[tuple[Any, Any]]:
    """Return each weight that is trained, in half precision and in float32."""
    pairs = zip(optimizer.fp16_params, optimizer.fp32_params, strict=True)
    return [pair for pair in pairs if pair[0].requires_grad]


def _to_all(function: Callable[..., Any], *lists: list[Tensor]) -> None:
    if lists[0]:  # torch's functions take no empty list
        function(*lists)
