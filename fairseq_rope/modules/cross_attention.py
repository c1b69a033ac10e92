"""Attention from the target to the source, with the source's keys and values once for each sentence."""

from typing import Any

from fairseq.modules import MultiheadAttention
from torch import Tensor

from fairseq_rope.modules.attention_core import attend
from fairseq_rope.modules.beam import sentence_rows
from fairseq_rope.modules.padding import Padding

IncrementalState = dict[str, dict[str, Any]]


class CrossAttention(MultiheadAttention):
    """fairseq's encoder-decoder attention; in a beam search the hypotheses of a sentence are rows of one product.

    Same parameters and signature. B is a multiple of N: in a beam search the source has a row for each sentence, and as
    many consecutive rows of the target belong to it. The encoder's output is not copied for every hypothesis.
    """

    def forward(
        self,
        query: Tensor,
        key: Tensor | None,
        value: Tensor | None,
        key_padding_mask: Tensor | Padding | None = None,
        incremental_state: IncrementalState | None = None,
        need_weights: bool = True,
        static_kv: bool = False,
        attn_mask: Tensor | None = None,
        before_softmax: bool = False,
        need_head_weights: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        """Attend from `query` to the source.

        Args:
            query: (T, B, E).
            key: the encoder's output, (S, N, its E).
            value: `key`.
            key_padding_mask: (N, S), true at padding, or the `Padding` made of it.
            incremental_state: fairseq's cache for stepwise decoding: keys and values are made in the first step only.
            need_weights: return the attention probabilities, averaged over heads.
            static_kv: always so: the source does not grow.
            attn_mask: not for the source.
            before_softmax: not supported.
            need_head_weights: return the probabilities of each head.

        Returns: (T, B, E), and the probabilities (B, T, S) or (H, B, T, S) or None.

        Raises:
            ValueError: `attn_mask` or `before_softmax`, or there is no source.
        """
        if attn_mask is not None or before_softmax:
            raise ValueError("cross-attention takes no attn_mask and gives no scores before the softmax")
        if isinstance(key_padding_mask, Tensor):
            key_padding_mask = Padding(key_padding_mask)
        k, v = self._keys_and_values(key, query.size(1), incremental_state)
        length, beam = query.size(0), query.size(1) // k.size(0)
        # (T, B, E) -> (T, N, beam, H, D) -> (N, H, beam * T, D)
        q = self.q_proj(query).view(length, -1, beam, self.num_heads, self.head_dim)
        attended, weights = attend(
            q.permute(1, 3, 2, 0, 4).flatten(2, 3),
            k,
            v,
            attn_mask=None,
            key_padding_mask=key_padding_mask,
            dropout=self.dropout_module,
            need_weights=need_weights or need_head_weights,
        )
        # (N, H, beam * T, D) -> (B, T, E), as the fused kernels lay it in memory: no copy to keep; -> (T, B, E)
        output = self.out_proj(attended.transpose(1, 2).reshape(query.size(1), length, -1)).transpose(0, 1)
        if weights is not None:
            # (N, H, beam * T, S) -> (H, B, T, S), and that or (B, T, S)
            weights = weights.view(*k.shape[:2], beam, length, -1).permute(1, 0, 2, 3, 4).flatten(1, 2)
            weights = weights if need_head_weights else weights.mean(dim=0)
        return output, weights

    def reorder_incremental_state(self, incremental_state: IncrementalState, new_order: Tensor) -> IncrementalState:
        """Follow the hypotheses; those of a sentence share its row, so only sentences that leave the batch matter."""
        cache = self._get_input_buffer(incremental_state)
        if cache:
            rows = sentence_rows(new_order, cache["hypotheses"], cache["key"].size(0))
            if rows is not None:
                kept = {name: cache[name].index_select(0, rows) for name in ("key", "value")}
                self._set_input_buffer(incremental_state, {**kept, "hypotheses": new_order.numel()})
        return incremental_state

    def _keys_and_values(
        self, key: Tensor | None, hypotheses: int, incremental_state: IncrementalState | None
    ) -> tuple[Tensor, Tensor]:
        """Return the source's keys and values, (N, H, S, D): cached, or projected."""
        cache = {} if incremental_state is None else self._get_input_buffer(incremental_state)
        if cache:
            return cache["key"], cache["value"]
        if key is None:
            raise ValueError("cross-attention needs the encoder's output")
        # products take the source as it lies in memory, be it by sentences, or each would copy it
        source, axes = (key, (1, 2, 0, 3)) if key.is_contiguous() else (key.transpose(0, 1), (0, 2, 1, 3))
        # (S, N, E) or (N, S, E) -> (N, H, S, D)
        k, v = (
            proj(source).unflatten(-1, (self.num_heads, self.head_dim)).permute(axes)
            for proj in (self.k_proj, self.v_proj)
        )
        if incremental_state is not None:
            k, v = k.contiguous(), v.contiguous()  # read in every step
            self._set_input_buffer(incremental_state, {"key": k, "value": v, "hypotheses": hypotheses})
        return k, v
