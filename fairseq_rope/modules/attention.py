"""Multi-head self-attention with rotated queries and keys, in the place of fairseq's own.

Axes: B batch, H heads, T query length, S key length, D head size, E model size.
"""

from typing import Any

import torch
from fairseq.modules import MultiheadAttention
from torch import Tensor

from fairseq_rope.modules.attention_core import attend
from fairseq_rope.modules.cpu.linear import Linear, linear
from fairseq_rope.modules.kv_cache import StepCache
from fairseq_rope.modules.positions.rotary import RotaryEmbedding
from fairseq_rope.modules.rotated_qkv import split

IncrementalState = dict[str, dict[str, Any]]
# tokens from which one product for queries, keys and values is worth joining their weights
_TOKENS_TO_JOIN = 256


class RotaryMultiheadAttention(MultiheadAttention):
    """fairseq's self-attention with queries and keys rotated by their positions (RoFormer, eq. 16 and 34).

    Same parameters and signature as `MultiheadAttention`, so that checkpoints, beam search and pruning work unchanged.
    Keys are cached rotated. A query that may see no key at all, as left padding under a causal mask, gets the mean of
    all values and never NaN; such rows are padding and reach no other row.
    """

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        *,
        rotary: RotaryEmbedding,
        dropout: float = 0.0,
        q_noise: float = 0.0,
        qn_block_size: int = 8,
    ):
        """Make the projections as fairseq does; `rotary` turns queries and keys and is shared by a stack's layers."""
        super().__init__(
            embed_dim, num_heads, dropout=dropout, self_attention=True, q_noise=q_noise, qn_block_size=qn_block_size
        )
        self.rotary = rotary

    def forward(
        self,
        query: Tensor,
        key: Tensor | None,
        value: Tensor | None,
        key_padding_mask: Tensor | None = None,
        incremental_state: IncrementalState | None = None,
        need_weights: bool = True,
        static_kv: bool = False,
        attn_mask: Tensor | None = None,
        before_softmax: bool = False,
        need_head_weights: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        """Attend from `query` to itself and to what `incremental_state` holds of the earlier steps.

        Args:
            query: (T, B, E).
            key: `query` or None, as `value`: this is self-attention.
            value: see `key`.
            key_padding_mask: (B, T), true at padding.
            incremental_state: fairseq's cache for stepwise decoding; updated.
            need_weights: return the attention probabilities, averaged over heads.
            static_kv: not for self-attention.
            attn_mask: (T, S), added to the scores, or true where a key is hidden; or `scores.CAUSAL`.
            before_softmax: not supported.
            need_head_weights: return the probabilities of each head.

        Returns: (T, B, E), and the probabilities (B, T, S) or (H, B, T, S) or None.

        Raises:
            ValueError: a use that rotation has no meaning for, such as keys from elsewhere.
        """
        if static_kv or before_softmax or any(x is not None and x is not query for x in (key, value)):
            raise ValueError("rotary attention is self-attention: no other keys, static_kv or before_softmax")
        search = None if incremental_state is None else self._search(incremental_state)
        cache = None if search is None else search["steps"]
        q, k, v = split(self._project(query, search), self.rotary, offset=0 if cache is None else cache.length)
        if cache is not None:
            k, v, key_padding_mask = cache.append(k, v, key_padding_mask)
        attended, weights = attend(
            q,
            k,
            v,
            attn_mask=attn_mask,
            key_padding_mask=key_padding_mask,
            dropout=self.dropout_module,
            need_weights=need_weights or need_head_weights,
        )
        # (B, H, T, D) -> (B, T, E), as the fused kernels lay it in memory: no copy to keep; -> (T, B, E)
        output = self.out_proj(attended.transpose(1, 2).flatten(2)).transpose(0, 1)
        if weights is not None:
            # (B, H, T, S) -> (H, B, T, S) or (B, T, S)
            weights = weights.transpose(0, 1) if need_head_weights else weights.mean(dim=1)
        return output, weights

    def reorder_incremental_state(self, incremental_state: IncrementalState, new_order: Tensor) -> IncrementalState:
        """Let hypothesis `new_order[i]` become the i-th of the cache."""
        cache = self._get_input_buffer(incremental_state).get("steps")
        if cache is not None:
            cache.reorder(new_order)
        return incremental_state

    def _search(self, incremental_state: IncrementalState) -> dict[str, Any]:
        """Give what this layer keeps while it decodes: earlier keys and values, and with no gradient the weights."""
        found = self._get_input_buffer(incremental_state)
        if not found:
            found = {"steps": StepCache()}
            self._set_input_buffer(incremental_state, found)
        return found

    def _project(self, query: Tensor, search: dict[str, Any] | None) -> Tensor:
        """Give queries, keys and values, (T, B, 3, H, D)."""
        if search is not None and not torch.is_grad_enabled():
            # joined once in a search
            if "projection" not in search:
                search["projection"] = self._joined_projection()
            projection = search["projection"]
        else:
            is_large = query.size(0) * query.size(1) >= _TOKENS_TO_JOIN
            projection = self._joined_projection() if is_large else None
        if projection is not None:
            joined = linear(query, *projection)
        else:
            joined = torch.cat([proj(query) for proj in (self.q_proj, self.k_proj, self.v_proj)], dim=-1)
        return joined.view(*query.shape[:2], 3, self.num_heads, self.head_dim)

    def _joined_projection(self) -> tuple[Tensor, Tensor] | None:
        """Give one weight and bias, (3 E, E) and (3 E,), or None where quantisation noise works in hooks of each."""
        projections = (self.q_proj, self.k_proj, self.v_proj)
        if any(type(proj) is not Linear or proj._forward_pre_hooks for proj in projections):
            return None
        return torch.cat([proj.weight for proj in projections]), torch.cat([proj.bias for proj in projections])
