"""The last layer of an encoder computes what is each token's own for the tokens that are asked for, and no others.

Masked language models ask for 15% of the tokens, a head of a sentence for the first one. Attention needs all of them
as keys and values; queries, its output and the feed-forward part are each token's own, so that the numbers are the
same.
"""

from contextvars import ContextVar
from typing import Any

import torch
from torch import Tensor, nn

from fairseq_rope.modules.token_rows import TokenRows

# of the layer that is computed; of each thread its own, for a model may serve several
_SELECTED: ContextVar[Tensor | None] = ContextVar("selected", default=None)


def select(x: Tensor, selected: Tensor) -> Tensor:
    """Return the tokens of `x`, (T, B, E) or (N, E), where `selected`, (B, T) or (N,), is true, (M, E)."""
    return (x if x.dim() == 2 else x.transpose(0, 1))[selected]


def selected_tokens() -> Tensor | None:
    """Return where the layer that computes now is asked for its output, (B, T) or (N,); None: everywhere."""
    return _SELECTED.get()


def first_tokens(tokens: Tensor) -> Tensor:
    """Return where the first token of each sentence of `tokens` (B, T) stands, (B, T)."""
    selected = torch.zeros_like(tokens, dtype=torch.bool)
    selected[:, 0] = True
    return selected


def side_by_side(selected: Tensor) -> tuple[TokenRows, Tensor]:
    """Let the selected tokens of each sentence be a shorter one, filled up to the longest, Q.

    Args:
        selected: (B, T), true at them.

    Returns: the way from their rows to those sentences and back, and the places where they stand, (B, Q).
    """
    length = int(selected.sum(dim=1).amax()) if selected.numel() else 0
    # (M,) each
    sentence, place = selected.nonzero(as_tuple=True)
    rows = sentence * length + (selected.cumsum(dim=1) - 1)[selected]
    places = place.new_zeros(len(selected) * length).index_copy_(0, rows, place).view(len(selected), length)
    return TokenRows(places.shape, None, rows), places


class SelectedTokens(nn.Module):
    """To be named before fairseq's encoder layer among a class's bases: `forward` takes `selected` too.

    Our self-attention returns the selected tokens alone. fairseq's layer (0.12.2 and main) adds that by its hook
    `residual_connection`, pre-norm and post-norm alike, and knows nothing of the shape of what it goes on with.
    """

    def forward(self, *args: Any, selected: Tensor | None = None, **options: Any) -> Any:
        """Call fairseq's `forward`.

        Args:
            args: fairseq's arguments.
            selected: (B, T), or (N,) of rows of tokens, true where a token's output is asked for; None: everywhere.
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
        """Return the sum; the first time in a `forward`, behind attention, of the selected tokens alone."""
        selected = _SELECTED.get()
        if selected is not None:
            residual = select(residual, selected)
            _SELECTED.set(None)
        return super().residual_connection(x, residual)  # type: ignore[misc]  # of the layer
