"""One product for several linear layers of the same input: queries, keys and values."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from fairseq_rope.modules.cpu.linear import Linear, linear
from fairseq_rope.modules.cpu.thresholds import MIN_TOKENS_TO_JOIN

Weights = tuple[Tensor, Tensor]  # of all layers, (out, in) and (out,)


def product(x: Tensor, layers: Sequence[nn.Linear]) -> Tensor:
    """Return what the layers make of `x` (..., in), side by side, (..., out)."""
    return product_with(weights(layers) if x.shape[:-1].numel() >= MIN_TOKENS_TO_JOIN else None, x, layers)


def product_with(joined: Weights | None, x: Tensor, layers: Sequence[nn.Linear]) -> Tensor:
    """Return the same by `joined`, their weights, or by each layer where that is None."""
    return torch.cat([layer(x) for layer in layers], dim=-1) if joined is None else linear(x, *joined)


def weights(layers: Sequence[nn.Linear]) -> Weights | None:
    """Return the weights and biases as one, or None where each layer is called by itself."""
    if not can_join(layers):
        return None
    return torch.cat([layer.weight for layer in layers]), torch.cat([layer.bias for layer in layers])


def can_join(layers: Sequence[nn.Linear]) -> bool:
    """Return whether no layer is another one or has hooks, such as those of quantization noise."""
    return all(type(layer) is Linear and not _has_hooks(layer) for layer in layers)


def _has_hooks(layer: nn.Module) -> bool:
    backward = layer._backward_hooks or layer._backward_pre_hooks
    return bool(layer._forward_pre_hooks or layer._forward_hooks or backward)
