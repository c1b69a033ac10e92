"""Backward passes that have no second derivative, and say so."""

import functools
from collections.abc import Callable
from typing import Any

import torch


def first_derivative_only(backward: Callable[..., Any]) -> Callable[..., Any]:
    """Let the backward pass of an autograd function end in an error under `create_graph=True`.

    torch's `once_differentiable` does so only where incoming gradients have a graph themselves; else it takes what is
    returned for constants, although that depends on the inputs, and a second derivative is wrong without a sign.
    """

    @functools.wraps(backward)
    def checked(*args: Any) -> Any:
        if torch.is_grad_enabled():
            raise RuntimeError("fairseq_rope has no second derivatives: call backward without create_graph=True")
        return backward(*args)

    return checked
