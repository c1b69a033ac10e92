"""On the CPU encoder layers compute rows of tokens, sentence by sentence, without much padding.

Most of a layer is each token's own, so that the numbers are the same. Attention needs sentences: where a sentence's
tokens lie side by side, they are near each other in memory. Leaving out padding is ModernBERT's unpadding (arXiv
2412.13663).
fairseq's layers (0.12.2 and main) hand on the padding mask as it is: `TokenRows` in its place tell `SelfAttention`.
"""

import torch
from torch import Tensor

from fairseq_rope.modules.cpu.thresholds import MIN_PADDING
from fairseq_rope.modules.padding import Padding


class TokenRows:
    """The way from sentences to rows of tokens, and back."""

    def __init__(self, shape: torch.Size, padding: Padding | None, places: Tensor | None = None):
        """Take which tokens are computed.

        Args:
            shape: of the batch, (B, T).
            padding: of the batch, or None.
            places: of the tokens that are computed among all B T, ascending, (N,); None: all are.
        """
        self.shape, self.padding, self.places = shape, padding, places

    def take(self, x: Tensor) -> Tensor:
        """Return the tokens of `x` (B, T, ...), sentence by sentence, (N, ...)."""
        rows = x.flatten(0, 1)
        return rows if self.places is None else rows.index_select(0, self.places)

    def restore(self, rows: Tensor) -> Tensor:
        """Return `rows` (N, ...) as sentences, (B, T, ...); what was not computed is 0."""
        if self.places is not None:
            rows = rows.new_zeros(self.shape.numel(), *rows.shape[1:]).index_copy_(0, self.places, rows)
        return rows.unflatten(0, self.shape)


def token_rows(mask: Tensor, padding: Padding | None, selected: Tensor | None = None) -> TokenRows | None:
    """Return the rows of a batch on the CPU; None elsewhere: a GPU would wait to know how much padding there is.

    Args:
        mask: (B, T), true at padding.
        padding: the same, or None where there is none.
        selected: (B, T), true where the output is asked for, be it padding; None: at all tokens.
    """
    if mask.device.type != "cpu":
        return None
    if padding is None or not _is_worth_leaving_out(mask):
        return TokenRows(mask.shape, padding)
    computed = ~mask if selected is None else ~mask | selected
    return TokenRows(mask.shape, padding, computed.flatten().nonzero().squeeze(1))


def _is_worth_leaving_out(mask: Tensor) -> bool:
    return int(torch.count_nonzero(mask)) >= MIN_PADDING * mask.numel()
