"""Unpadding: encoder layers compute the tokens of a batch without its padding (ModernBERT, arXiv 2412.13663).

Attention needs sentences; whatever else a layer does is each token's own, so that the numbers are the same.
"""

from typing import Any

import torch
from torch import Tensor, nn

from fairseq_rope.modules.cpu.thresholds import MIN_PADDING


class Unpadding:
    """The way from sentences with padding to their tokens, and back."""

    def __init__(self, padding: Tensor):
        """Take the places of tokens from `padding` (B, T), which is true where none stands."""
        self.shape = padding.shape
        # of each token in B T places, sentence by sentence
        self.places = padding.logical_not().flatten().nonzero().squeeze(1)

    def remove(self, x: Tensor) -> Tensor:
        """Return the tokens of `x` (B, T, ...), sentence by sentence, (N, ...)."""
        return x.flatten(0, 1).index_select(0, self.places)

    def restore(self, x: Tensor) -> Tensor:
        """Return `x` (N, ...) as sentences, (B, T, ...), whose padding is 0."""
        sentences = x.new_zeros(self.shape.numel(), *x.shape[1:]).index_copy_(0, self.places, x)
        return sentences.unflatten(0, self.shape)


def worthwhile_unpadding(padding: Tensor) -> Unpadding | None:
    """Return the unpadding of a batch on the CPU with much of it, else None; a GPU would wait to know how much it is.

    Args:
        padding: (B, T), true at padding.
    """
    if padding.device.type != "cpu" or torch.count_nonzero(padding) < MIN_PADDING * padding.numel():
        return None
    return Unpadding(padding)


class UnpaddedLayer(nn.Module):
    """To be named before fairseq's layer among a class's bases: `forward` takes `unpadding` too."""

    self_attn: Any

    def forward(self, *args: Any, unpadding: Unpadding | None = None, **options: Any) -> Any:
        """Call fairseq's `forward`; with `unpadding` its input and output are (N, E)."""
        self.self_attn.unpadding = unpadding
        try:
            return super().forward(*args, **options)
        finally:
            self.self_attn.unpadding = None
