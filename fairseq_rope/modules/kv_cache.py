"""Keys and values of the earlier steps of a beam search, in buffers that are not made anew in every step."""

import torch
from torch import Tensor

from fairseq_rope.modules.padding import Padding

_FIRST_CAPACITY = 32  # tokens


class KVCache:
    """Grows by the tokens of each step; a new order of the hypotheses waits for the next step's one copy.

    Two buffers of keys and values, (capacity, 2, B, H * D), take turns: what is reordered is copied from one to the
    other. While autograd is on they are made anew, just long enough, and gradients flow through them.
    """

    def __init__(self) -> None:
        self.length = 0
        self._buffer: Tensor | None = None
        self._spare: Tensor | None = None
        self._padding: Tensor | None = None  # (B, S), true at padding; None: no token is
        self._order: Tensor | None = None

    def reorder(self, order: Tensor) -> None:
        """Let hypothesis `order[i]` become the i-th; there may be fewer or more of them than before."""
        self._order = order if self._order is None else self._order.index_select(0, order)

    def append(self, k: Tensor, v: Tensor, padding: Padding | None) -> tuple[Tensor, Tensor, Padding | None]:
        """Add a step's keys and values, (B, H, T, D), and padding, (B, T).

        Returns: all keys and values, (B, H, S, D), and padding, (B, S), None where no token is.
        """
        before, self.length = self.length, self.length + k.size(2)
        self._extend_padding(padding, k, before)
        # (B, H, T, D) -> (T, B, H * D)
        added = [new.permute(2, 0, 1, 3).flatten(2) for new in (k, v)]
        buffer = self._buffer
        if torch.is_grad_enabled():
            buffer = self._concatenated(before, torch.stack(added, dim=1))
        else:
            if buffer is None or self._order is not None or buffer.size(0) < self.length:
                buffer = self._copy(before, added[0])
            for place, new in zip(buffer[before : self.length].unbind(dim=1), added, strict=True):
                place.copy_(new)
        self._buffer, self._order = buffer, None
        # (S, 2, B, H * D) -> two of (B, H, S, D)
        keys, values = buffer[: self.length].unflatten(3, (k.size(1), -1)).permute(1, 2, 3, 0, 4).unbind()
        return keys, values, None if self._padding is None else Padding(self._padding)

    def _concatenated(self, before: int, added: Tensor) -> Tensor:
        """Return what there is, in its new order, and `added`, without a write into what a backward pass may need."""
        if self._buffer is None:
            return added
        earlier = self._buffer[:before]
        return torch.cat((earlier if self._order is None else earlier.index_select(2, self._order), added))

    def _copy(self, before: int, added: Tensor) -> Tensor:
        """Return the other buffer with what there is, in its new order; made anew when it doesn't fit."""
        old, new = self._buffer, self._spare
        capacity = _FIRST_CAPACITY if old is None else old.size(0)
        if capacity < self.length:
            capacity = 2 * self.length
        size = (capacity, 2, *added.shape[1:])
        if new is None or new.shape != size:
            new = added.new_empty(size)
        if old is not None and self._order is not None:
            torch.index_select(old[:before], 2, self._order, out=new[:before])
        elif old is not None:
            new[:before] = old[:before]
        self._spare = old
        return new

    def _extend_padding(self, padding: Padding | None, k: Tensor, before: int) -> None:
        earlier = self._padding
        if earlier is not None and self._order is not None:
            earlier = earlier.index_select(0, self._order)
        if earlier is not None or padding is not None:
            # a step without padding passes no mask, whatever the others did
            earlier = k.new_zeros(k.size(0), before, dtype=torch.bool) if earlier is None else earlier
            added = k.new_zeros(k.size(0), k.size(2), dtype=torch.bool) if padding is None else padding.mask
            earlier = torch.cat((earlier, added), dim=1)
        self._padding = earlier
