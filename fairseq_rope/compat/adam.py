"""`--optimizer adam` passes over weights, gradients and moments once.

Symptom: fairseq's Adam computes a step in seven operations a weight, each of which passes over memory anew: on a CPU
that is slower than memory allows, and a GPU waits for the host to start them. fairseq 0.12.2 and main; can go when
fairseq calls torch's fused kernel without NVIDIA's apex too.
The formula is fairseq's (Kingma and Ba, arXiv 1412.6980, end of section 2; weight decay of Loshchilov and Hutter, arXiv
1711.05101, algorithm 2), and so is the state; results differ by rounding.
"""

import functools
import logging
import math
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import torch
from fairseq.optim.adam import Adam
from torch import Tensor
from torch.autograd.graph import increment_version

from fairseq_rope.compat.wrapping import wrap

_logger = logging.getLogger(__name__)


def update_in_one_pass() -> None:
    """Let fairseq's Adam use torch's fused kernel for float32 weights on the CPU or one GPU."""
    wrap(Adam, "step", _step)


def _step(step: Callable[..., Any], adam: Any, closure: Any = None) -> Any:
    if closure is not None or not can_fuse(adam.param_groups):
        return step(adam, closure)
    for group in adam.param_groups:
        # weights that had no gradient in some step are behind the others
        by_step: dict[int, list[Tensor]] = defaultdict(list)
        for weight in group["params"]:
            if weight.grad is not None:
                by_step[_begin(weight, adam.state[weight])].append(weight)
        for number, weights in by_step.items():
            _update(weights, [adam.state[weight] for weight in weights], number, group)
    return None


def can_fuse(groups: list[dict[str, Any]]) -> bool:
    """Return whether the kernel computes what fairseq does for all weights of these groups."""
    weights = [weight for group in groups for weight in group["params"] if weight.grad is not None]
    devices = {weight.device for weight in weights}
    return (
        len(devices) == 1
        # with a second moment that never grows fairseq's step is 0, and the kernel's bias correction divides by 0
        and not any(group.get("amsgrad") or group["betas"][1] == 1 for group in groups)
        and all(_is_plain(weight) and _is_plain(weight.grad) for weight in weights)
        and has_kernel(devices.pop())
    )


def _is_plain(x: Any) -> bool:
    # the kernel walks through memory: a transposed weight and its gradient may lie there in different orders
    is_known = x.device.type in ("cpu", "cuda")
    return bool(is_known and x.dtype == torch.float32 and not x.is_sparse and x.is_contiguous())


@functools.cache
def has_kernel(device: torch.device) -> bool:
    """Return whether this torch has the kernel for a device, and it computes this; it is private to torch."""
    weight = torch.ones(1, device=device)
    state = {"exp_avg": torch.zeros_like(weight), "exp_avg_sq": torch.zeros_like(weight)}
    weight.grad = torch.ones_like(weight)
    try:
        _update([weight], [state], 1, {"lr": 1.0, "betas": (0.5, 0.5), "eps": 1.0, "weight_decay": 0.0})
    except (AttributeError, NotImplementedError, TypeError):  # not there, not for the device, or with other arguments
        found = False
    else:
        # 1 - sqrt(1 - 0.5) / (1 - 0.5) * 0.5 / (sqrt(0.5) + 1)
        found = math.isclose(weight.item(), 2 - math.sqrt(2), rel_tol=1e-5)
    if not found:
        _logger.info("torch %s has no fused Adam for %s: fairseq's loop is used", torch.__version__, device)
    return found


def _begin(weight: Tensor, state: dict[str, Any]) -> int:
    """Count a step in the state of a weight, made as fairseq makes it, and return its number.

    Raises:
        ValueError: a moment has another shape; the kernel doesn't look, and would write past its end.
    """
    if not state:
        state |= {"step": 0, "exp_avg": torch.zeros_like(weight), "exp_avg_sq": torch.zeros_like(weight)}
    for name in ("exp_avg", "exp_avg_sq"):
        if state[name].shape != weight.shape:
            expected, found = tuple(weight.shape), tuple(state[name].shape)
            raise ValueError(f"{name} of the optimizer's state must be {expected}, as its weight, but is {found}")
        # a checkpoint of --fp16 may hold another type, one of a transposed weight another order in memory
        state[name] = state[name].to(weight).contiguous()
    state["step"] += 1
    return int(state["step"])


@torch.no_grad()
def _update(weights: list[Tensor], states: list[dict[str, Any]], number: int, group: dict[str, Any]) -> None:
    beta1, beta2 = group["betas"]
    # fairseq adds eps to the root of the biased second moment, torch to that of the unbiased one
    eps = group["eps"] / math.sqrt(1 - beta2**number)
    torch._fused_adamw_(
        weights,
        [weight.grad for weight in weights if weight.grad is not None],
        [state["exp_avg"] for state in states],
        [state["exp_avg_sq"] for state in states],
        [],
        [torch.full((), number, dtype=torch.float32, device=weights[0].device)] * len(weights),
        lr=group["lr"],
        beta1=beta1,
        beta2=beta2,
        weight_decay=group["weight_decay"],
        eps=eps,
        amsgrad=False,
        maximize=False,
    )
    for weight in weights:  # autograd counts no change by this kernel, and packed weights wait for one
        increment_version(weight)
