"""How self-attention gets from projected queries, keys and values to its output: the place to choose another kernel."""

from typing import Any, NamedTuple, Protocol

from fairseq.modules import FairseqDropout
from torch import Tensor

from fairseq_rope.modules.attention_core import attend
from fairseq_rope.modules.kv_cache import KVCache
from fairseq_rope.modules.padding import Padding
from fairseq_rope.modules.positions.base import PositionMethod
from fairseq_rope.modules.rotated_qkv import rotate_qkv_


class SelectedQueries(NamedTuple):
    """The queries of some tokens, in the place of those of all."""

    projected: Tensor  # (Q, B, 1, H, D), which may be overwritten
    positions: Tensor  # (B, Q)


class DecodingState(Protocol):
    """What a kernel keeps of the earlier steps of a search; how it grows is between the two."""

    def reorder(self, order: Tensor) -> None:
        """Let hypothesis `order[i]` become the i-th; there may be fewer or more of them than before."""


class AttentionKernel(Protocol):
    """A way to attend, with the state that it decodes with."""

    def new_state(self) -> DecodingState:
        """Return the state of a search before its first step."""

    def attend(
        self,
        projected: Tensor,
        method: PositionMethod,
        state: Any,
        *,
        positions: Tensor | None,
        attn_mask: Tensor | None,
        key_padding_mask: Padding | None,
        dropout: FairseqDropout,
        need_weights: bool,
        queries: SelectedQueries | None = None,
    ) -> tuple[Tensor, Tensor | None]:
        """Return what the queries get from the keys and values, those of `state` too.

        Args:
            projected: queries, keys and values without positions, (T, B, 3, H, D), which may be overwritten.
            method: of positions.
            state: of the search, updated; None: these are all tokens.
            positions: (B, T), or None: the tokens stand side by side, after those of `state`.
            attn_mask: (T, S), added to the scores, or true where a key is hidden; or CAUSAL.
            key_padding_mask: of the queries' tokens, (B, T).
            dropout: for the probabilities.
            need_weights: return the probabilities before dropout.
            queries: those that attend; `projected` is then of keys and values alone, (T, B, 2, H, D). For methods with
                `takes_some_queries`.

        Returns: (B, H, T, D), and the probabilities (B, H, T, S) or None; for `queries` T is Q.
        """


class SoftmaxKernel:
    """softmax(q k^T / sqrt(D)) v over keys that are cached rotated."""

    def new_state(self) -> KVCache:
        """Return an empty cache of keys and values."""
        return KVCache()

    def attend(
        self,
        projected: Tensor,
        method: PositionMethod,
        state: KVCache | None,
        *,
        positions: Tensor | None,
        attn_mask: Tensor | None,
        key_padding_mask: Padding | None,
        dropout: FairseqDropout,
        need_weights: bool,
        queries: SelectedQueries | None = None,
    ) -> tuple[Tensor, Tensor | None]:
        """Return softmax attention's output and probabilities; see `AttentionKernel`."""
        offset = 0 if state is None else state.length
        if queries is None:
            q, k, v = rotate_qkv_(projected, method, offset=offset, positions=positions)
        else:
            (q,) = rotate_qkv_(queries.projected, method, rotated=1, positions=queries.positions)
            k, v = rotate_qkv_(projected, method, rotated=1, offset=offset, positions=positions)
        if state is not None:
            k, v, key_padding_mask = state.append(k, v, key_padding_mask)
        return attend(
            q,
            k,
            v,
            attn_mask=attn_mask,
            key_padding_mask=key_padding_mask,
            dropout=dropout,
            need_weights=need_weights,
            position_bias=method.bias(q, num_keys=k.size(2), offset=offset),
            added_values=method.added_values(offset=offset),
        )
