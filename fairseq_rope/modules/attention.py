"""Multi-head self-attention with a position method, in the place of fairseq's own."""

from dataclasses import dataclass
from typing import Any

import torch
from fairseq.modules import MultiheadAttention
from torch import Tensor

from fairseq_rope.modules.attention_kernels import AttentionKernel, DecodingState, SelectedQueries, SoftmaxKernel
from fairseq_rope.modules.cpu import joined
from fairseq_rope.modules.cpu.packing import PackedLinear, pack
from fairseq_rope.modules.explicit_positions import Positioned
from fairseq_rope.modules.padding import Padding
from fairseq_rope.modules.positions.base import PositionMethod
from fairseq_rope.modules.selected_tokens import selected_tokens, side_by_side
from fairseq_rope.modules.token_rows import TokenRows

IncrementalState = dict[str, dict[str, Any]]
_STATE = "state"


@dataclass
class _Decoding:
    """What a layer keeps while it decodes: the kernel's state, and its weights joined once, where no gradient flows."""

    state: DecodingState
    projection: joined.Weights | None = None
    is_joined: bool = False


class SelfAttention(Positioned, MultiheadAttention):
    """fairseq's self-attention, whose queries, keys, scores and values know positions by a `PositionMethod`.

    Same parameters and signature as `MultiheadAttention`, so that checkpoints, beam search and pruning work unchanged.
    A query that may see no key at all, as left padding under a causal mask, gets the mean of all values and never NaN;
    such rows are padding and reach no other row.
    """

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        *,
        position_method: PositionMethod,
        kernel: AttentionKernel | None = None,
        dropout: float = 0.0,
        q_noise: float = 0.0,
        qn_block_size: int = 8,
    ):
        """Make the projections as fairseq does.

        Args:
            embed_dim: E.
            num_heads: H.
            position_method: what is asked about positions; a stack's layers share it, or each has its own.
            kernel: how to attend; softmax unless given.
            dropout: of the probabilities.
            q_noise: fairseq's quantization noise.
            qn_block_size: its block size.
        """
        super().__init__(
            embed_dim, num_heads, dropout=dropout, self_attention=True, q_noise=q_noise, qn_block_size=qn_block_size
        )
        self.position_method = position_method.for_layer()
        if self.position_method is not position_method:
            self.position_weights = self.position_method.weights
        self.kernel: AttentionKernel = kernel or SoftmaxKernel()
        self.packed: PackedLinear | None = None

    def make_generation_fast_(self, **_: Any) -> None:
        """Pack the weights of queries, keys and values as one; fairseq calls it before a search."""
        layers = self.q_proj, self.k_proj, self.v_proj
        self.packed = pack(*layers) if joined.can_join(layers) else None

    def forward(
        self,
        query: Tensor,
        key: Tensor | None,
        value: Tensor | None,
        key_padding_mask: Tensor | Padding | TokenRows | None = None,
        incremental_state: IncrementalState | None = None,
        need_weights: bool = True,
        static_kv: bool = False,
        attn_mask: Tensor | None = None,
        before_softmax: bool = False,
        need_head_weights: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        """Attend from `query` to itself and to what `incremental_state` holds of the earlier steps.

        From `selected_tokens` alone, where the layer is asked for the output of these.

        Args:
            query: (T, B, E), or rows of tokens, (N, E).
            key: `query` or None, as `value`: this is self-attention.
            value: see `key`.
            key_padding_mask: (B, T), true at padding, or the `Padding` made of it; or how `query` came to be rows.
            incremental_state: fairseq's cache for stepwise decoding; updated.
            need_weights: return the attention probabilities, averaged over heads.
            static_kv: not for self-attention.
            attn_mask: (T, S), added to the scores, or true where a key is hidden; or `attention_core.CAUSAL`.
            before_softmax: not supported.
            need_head_weights: return the probabilities of each head.

        Returns: what has the shape of `query`, or that of the selected tokens, (M, E); and the probabilities (B, T, S)
            or (H, B, T, S) or None.

        Raises:
            ValueError: a use that positions have no meaning for, such as keys from elsewhere; or positions are given
                to a method that does not take them.
        """
        if static_kv or before_softmax or any(x is not None and x is not query for x in (key, value)):
            raise ValueError("self-attention with positions takes no other keys, static_kv or before_softmax")
        if self.positions is not None and not self.position_method.takes_positions:
            raise ValueError(
                f"explicit positions are for methods that rotate, not for {type(self.position_method).__name__}"
            )
        rows = key_padding_mask if isinstance(key_padding_mask, TokenRows) else None
        padding = key_padding_mask if rows is None else rows.padding
        if isinstance(padding, Tensor):
            padding = Padding(padding)
        options = {"attn_mask": attn_mask, "key_padding_mask": padding, "dropout": self.dropout_module}
        needs_weights, selected = need_weights or need_head_weights, selected_tokens()
        is_plain = incremental_state is None and attn_mask is None and not needs_weights
        if rows is not None and selected is not None and is_plain and self._takes_some_queries():
            return self._attend_from(query, rows, selected, options), None
        decoding = None if incremental_state is None else self._decoding(incremental_state)
        projected = self._project(query, decoding)
        if rows is not None:
            # (N, 3, H, D) -> (T, B, 3, H, D)
            projected = rows.restore(projected).transpose(0, 1)
        attended, weights = self.kernel.attend(
            projected,
            self.position_method,
            None if decoding is None else decoding.state,
            positions=self.positions,
            need_weights=needs_weights,
            **options,
        )
        # (B, H, T, D) -> (B, T, E), as the fused kernels lay it in memory: no copy to keep
        attended = attended.transpose(1, 2).flatten(2)
        if rows is not None:
            # -> (N, E)
            attended = rows.take(attended)
        if selected is not None:
            # -> (M, E)
            attended = attended[selected]
        output = self.out_proj(attended)
        if output.dim() == 3:
            # -> (T, B, E)
            output = output.transpose(0, 1)
        if weights is not None:
            # (B, H, T, S) -> (H, B, T, S) or (B, T, S)
            weights = weights.transpose(0, 1) if need_head_weights else weights.mean(dim=1)
        return output, weights

    def _takes_some_queries(self) -> bool:
        return self.position_method.takes_some_queries

    def _attend_from(self, query: Tensor, rows: TokenRows, selected: Tensor, options: dict[str, Any]) -> Tensor:
        """Return what the selected tokens, true in `selected` (N,), get from all, (M, E)."""
        shorter, places = side_by_side(rows.restore(selected))
        keys_and_values = self._heads(joined.product(query, (self.k_proj, self.v_proj)))
        queries = self._heads(self.q_proj(query[selected]))
        attended, _ = self.kernel.attend(
            # (N, 2, H, D) -> (T, B, 2, H, D)
            rows.restore(keys_and_values).transpose(0, 1),
            self.position_method,
            None,
            positions=self.positions,
            need_weights=False,
            # (M, 1, H, D) -> (Q, B, 1, H, D)
            queries=SelectedQueries(
                shorter.restore(queries).transpose(0, 1),
                places if self.positions is None else self.positions.gather(1, places),
            ),
            **options,
        )
        # (B, H, Q, D) -> (M, E)
        return self.out_proj(shorter.take(attended.transpose(1, 2).flatten(2)))

    def reorder_incremental_state(self, incremental_state: IncrementalState, new_order: Tensor) -> IncrementalState:
        """Let hypothesis `new_order[i]` become the i-th of the cache."""
        decoding: Any = self._get_input_buffer(incremental_state).get(_STATE)
        if decoding is not None:
            decoding.state.reorder(new_order)
        return incremental_state

    def _decoding(self, incremental_state: IncrementalState) -> _Decoding:
        # fairseq's dictionary is of tensors; nobody but this class and its reorder looks into it
        buffer: dict[str, Any] = self._get_input_buffer(incremental_state)
        if not buffer:
            buffer = {_STATE: _Decoding(self.kernel.new_state())}
            self._set_input_buffer(incremental_state, buffer)
        found: _Decoding = buffer[_STATE]
        return found

    def _project(self, query: Tensor, decoding: _Decoding | None) -> Tensor:
        """Return queries, keys and values, (..., 3, H, D)."""
        layers = self.q_proj, self.k_proj, self.v_proj
        projected = None
        if self.packed is not None and joined.can_join(layers):  # layers and hooks may have changed since
            projected = self.packed.product(query, *layers)
        if projected is None and decoding is not None and not torch.is_grad_enabled():
            if not decoding.is_joined:
                decoding.projection, decoding.is_joined = joined.weights(layers), True
            projected = joined.product_with(decoding.projection, query, layers)
        return self._heads(joined.product(query, layers) if projected is None else projected)

    def _heads(self, projected: Tensor) -> Tensor:
        """(..., P E) -> (..., P, H, D)."""
        return projected.unflatten(-1, (-1, self.num_heads, self.head_dim))
