"""The last layer of an encoder computes its feed-forward part for the tokens that are asked for, and no others.

Masked language models ask for 15% of the tokens, a head of a sentence for the first one. Attention needs all of them,
as keys and values; what follows it in a layer is each token's own, so that the numbers are the same.
"""

from contextvars import ContextVar
from typing import Any

import torch
from torch import Tensor, nn

# of the layer that is computed; of each thread its own, for a model may serve several
_SELECTED: ContextVar[Tensor | None] = ContextVar("selected", default=None)


def select(x: Tensor, selected: Tensor) -> Tensor:
    """Return the tokens of `x`, (T, B, E) or (N, E), where `selected`, (B, T) or (N,), is true, (M, E)."""
    return (x if x.dim() == 2 else x.transpose(0, 1))[selected]


def first_tokens(tokens: Tensor) -> Tensor:
    """Return where the first token of each sentence of `tokens` (B, T) stands, (B, T)."""
    selected = torch.zeros_like(tokens, dtype=torch.bool)
    selected[:, 0] = True
    return selected


class SelectedTokens(nn.Module):
    """To be named before fairseq's encoder layer among a class's bases: `forward` takes `selected` too.

    fairseq's (0.12.2 and main) adds what attention found by its hook `residual_connection`, pre-norm and post-norm
    alike, and knows nothing of the shape of what it goes on with.
    """

    def forward(self, *args: Any, selected: Tensor | None = None, **options: Any) -> Any:
        """Call fairseq's `forward`.

        Args:
            args: fairseq's arguments.
            selected: (B, T), or (N,) without padding, true where a token's output is asked for; None: everywhere.
            options: fairseq's keyword arguments.

        Returns: fairseq's output (T, B, E), or that of the selected tokens, (M, E).
        """
        # set anew in each call, so that it is there when activation checkpointing repeats it
        before = _SELECTED.set(selected)
        try:
            return super().forward(*args, **options)
        finally:
            _SELECTED.reset(before)

    def residual_connection(self, x: Tensor, residual: Tensor) -> Tensor:
        """Return the sum; the first time in a `forward` of the selected tokens alone."""
        selected = _SELECTED.get()
        if selected is not None:
            x, residual = select(x, selected), select(residual, selected)
            _SELECTED.set(None)
        return super().residual_connection(x, residual)  # type: ignore[misc]  # of the layer
