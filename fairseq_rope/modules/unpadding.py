"""Unpadding: encoder layers compute the tokens of a batch without its padding (ModernBERT, arXiv 2412.13663).

Attention needs sentences; whatever else a layer does is each token's own, so that the numbers are the same. fairseq's
layers (0.12.2 and main) hand on the padding mask as it is: an `Unpadding` in its place tells `SelfAttention` about it.
"""

import torch
from torch import Tensor

from fairseq_rope.modules.cpu.thresholds import MIN_PADDING
from fairseq_rope.modules.padding import Padding


class Unpadding:
    """The way from sentences with padding to their tokens, and back."""

    def __init__(self, padding: Padding, selected: Tensor | None = None):
        """Take the places of tokens, and of padding whose output is asked for.

        Args:
            padding: of the batch, (B, T).
            selected: (B, T), true where the output is asked for; None: at all tokens.
        """
        self.padding = padding
        computed = ~padding.mask if selected is None else ~padding.mask | selected
        # of each in B T places, sentence by sentence
        self.places = computed.flatten().nonzero().squeeze(1)

    def remove(self, x: Tensor) -> Tensor:
        """Return the tokens of `x` (B, T, ...), sentence by sentence, (N, ...)."""
        return x.flatten(0, 1).index_select(0, self.places)

    def restore(self, x: Tensor) -> Tensor:
        """Return `x` (N, ...) as sentences, (B, T, ...), whose padding is 0."""
        sentences = x.new_zeros(self.padding.mask.numel(), *x.shape[1:]).index_copy_(0, self.places, x)
        return sentences.unflatten(0, self.padding.mask.shape)


def worthwhile_unpadding(padding: Padding, selected: Tensor | None = None) -> Unpadding | None:
    """Return the `Unpadding` of a batch on the CPU with much padding, else None; a GPU would wait to know how much."""
    mask = padding.mask
    if mask.device.type != "cpu" or torch.count_nonzero(mask) < MIN_PADDING * mask.numel():
        return None
    return Unpadding(padding, selected)
