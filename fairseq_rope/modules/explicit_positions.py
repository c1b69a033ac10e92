"""Positions that tokens are given, on their way to self-attention: fairseq's signatures have no argument for them."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from types import MappingProxyType
from typing import Any

import torch
from torch import Tensor, nn

# those of each part that computes now; of each thread its own, for a model may serve several
_POSITIONS: ContextVar[Mapping["Positioned", Tensor | None]] = ContextVar("positions", default=MappingProxyType({}))


class Positioned:
    """A part of a model whose tokens may stand elsewhere than side by side."""

    @property
    def positions(self) -> Tensor | None:
        """The positions (B, T) within `at`; otherwise None."""
        return _POSITIONS.get().get(self)

    @contextmanager
    def at(self, positions: Tensor | None) -> Iterator[None]:
        """Let the tokens of `forward` stand at `positions` within this context.

        Args:
            positions: (B, T), whole or real numbers, padding too; None: side by side, after those of earlier steps.
        """
        before = _POSITIONS.set({**_POSITIONS.get(), self: positions})
        try:
            yield
        finally:
            _POSITIONS.reset(before)


class PositionedLayer(nn.Module):
    """To be named before fairseq's layer among a class's bases: `forward` takes `positions` too."""

    self_attn: Any

    def forward(self, *args: Any, positions: Tensor | None = None, **options: Any) -> Any:
        """Call fairseq's `forward` with the tokens at `positions`, as `Positioned.at` describes them."""
        with self.self_attn.at(positions):
            return super().forward(*args, **options)


class PositionedStack(Positioned):
    """To be named before fairseq's stack among a class's bases."""

    # the token after which positions start anew: they are those in a sentence, where several stand together
    restart_after: int | None = None
    padding_idx: int  # fairseq's

    def positions_of(self, tokens: Tensor) -> Tensor | None:
        """Return the positions of all `tokens` (B, T), or None where they stand side by side.

        Raises:
            ValueError: the positions given are not as many as the tokens, or in half precision, which rounds them.
        """
        given = self.positions
        if given is None and self.restart_after is not None:
            return sentence_positions(tokens, restart_after=self.restart_after, padding_idx=self.padding_idx)
        if given is not None and given.shape != tokens.shape:
            raise ValueError(f"positions must be {tuple(tokens.shape)}, as the tokens, but are {tuple(given.shape)}")
        if given is not None and given.dtype in (torch.float16, torch.bfloat16):
            raise ValueError(
                f"positions must be whole numbers or float64, but are {given.dtype}: --fp16 and --bf16 round all "
                "float32 numbers of a batch"
            )
        return given


def sentence_positions(tokens: Tensor, *, restart_after: int, padding_idx: int) -> Tensor:
    """Return each token's position in its sentence, counted from 0 and without padding, (B, T).

    Args:
        tokens: (B, T).
        restart_after: the token that ends a sentence; it counts as its sentence's last.
        padding_idx: the token that is none.
    """
    counts = tokens.ne(padding_idx).long()
    index = counts.cumsum(dim=1) - counts
    # how many tokens stand before each one's sentence: the largest index after an end so far; the first has index 0
    starts = (index * tokens.eq(restart_after).roll(1, dims=1)).cummax(dim=1).values
    return index - torch.where(counts.bool(), starts, index)
