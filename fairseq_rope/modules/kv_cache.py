"""Keys and values of the earlier steps of a beam search, in buffers that are not made anew in every step."""

import torch
from torch import Tensor

_FIRST_CAPACITY = 32  # tokens


class KVCache:
    """Grows by the tokens of each step; a new order of the hypotheses waits for the next step's one copy.

    Two pairs of buffers, (capacity, B, H * D) for keys and values each, take turns: what is reordered is copied from
    one to the other. While autograd is on they are made anew, just long enough, and gradients flow through them.
    """

    def __init__(self) -> None:
        self.length = 0
        self._buffers: list[Tensor] = []
        self._spare: list[Tensor] = []
        self._padding: Tensor | None = None  # (B, S), true at padding; None: no token is
        self._order: Tensor | None = None

    def reorder(self, order: Tensor) -> None:
        """Let hypothesis `order[i]` become the i-th; there may be fewer or more of them than before."""
        self._order = order if self._order is None else self._order.index_select(0, order)

    def append(self, k: Tensor, v: Tensor, padding: Tensor | None) -> tuple[Tensor, Tensor, Tensor | None]:
        """Add a step's keys and values, (B, H, T, D), and padding, (B, T).

        Returns: all keys and values, (B, H, S, D), and padding, (B, S), None where no token is.
        """
        before, self.length = self.length, self.length + k.size(2)
        self._extend_padding(padding, k, before)
        # (B, H, T, D) -> (T, B, H * D)
        added = [new.permute(2, 0, 1, 3).flatten(2) for new in (k, v)]
        if torch.is_grad_enabled():
            self._concatenate(before, added)
        else:
            if self._order is not None or not self._buffers or self._buffers[0].size(0) < self.length:
                self._copy(before, k)
            for buffer, new in zip(self._buffers, added, strict=True):
                buffer[before : self.length] = new
        self._order = None
        # (S, B, H * D) -> (B, H, S, D)
        keys, values = (
            buffer[: self.length].view(self.length, k.size(0), k.size(1), -1).permute(1, 2, 0, 3)
            for buffer in self._buffers
        )
        return keys, values, self._padding

    def _concatenate(self, before: int, added: list[Tensor]) -> None:
        """Add to what there is, in its new order, without a write into what a backward pass may need."""
        earlier = [buffer[:before] for buffer in self._buffers]
        if self._order is not None:
            earlier = [buffer.index_select(1, self._order) for buffer in earlier]
        # no earlier ones in the first step
        self._buffers = [torch.cat(pair) for pair in zip(earlier, added, strict=True)] if earlier else added

    def _copy(self, before: int, k: Tensor) -> None:
        """Copy what there is, in its new order, to the other buffers; made anew when they don't fit."""
        capacity = self._buffers[0].size(0) if self._buffers else _FIRST_CAPACITY
        if capacity < self.length:
            capacity = 2 * self.length
        size = (capacity, k.size(0), k.size(1) * k.size(3))
        if not self._spare or self._spare[0].shape != size:
            self._spare = [k.new_empty(size) for _ in range(2)]
        for old, new in zip(self._buffers, self._spare, strict=False):  # no old ones in the first step
            if self._order is None:
                new[:before] = old[:before]
            else:
                torch.index_select(old[:before], 1, self._order, out=new[:before])
        self._buffers, self._spare = self._spare, self._buffers

    def _extend_padding(self, padding: Tensor | None, k: Tensor, before: int) -> None:
        earlier = self._padding
        if earlier is not None and self._order is not None:
            earlier = earlier.index_select(0, self._order)
        if earlier is not None or padding is not None:
            # a step without padding passes no mask, whatever the others did
            earlier = k.new_zeros(k.size(0), before, dtype=torch.bool) if earlier is None else earlier
            padding = k.new_zeros(k.size(0), k.size(2), dtype=torch.bool) if padding is None else padding.bool()
            earlier = torch.cat((earlier, padding), dim=1)
        self._padding = earlier
