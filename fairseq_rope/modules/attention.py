"""Multi-head self-attention with rotated queries and keys, in the place of fairseq's own.

Axes: B batch, H heads, T query length, S key length, D head size, E model size.
"""

import torch
import torch.nn.functional as F
from fairseq.modules import MultiheadAttention
from torch import Tensor

from fairseq_rope.modules.rotary import RotaryEmbedding

Cache = dict[str, Tensor | None]
IncrementalState = dict[str, Cache]


class RotaryMultiheadAttention(MultiheadAttention):
    """fairseq's self-attention with queries and keys rotated by their positions (RoFormer, eq. 16 and 34).

    Same parameters, signature and cache layout as `MultiheadAttention`, so that checkpoints, beam search and pruning
    work unchanged. Keys are cached rotated. A query that may see no key at all, as left padding under a
    causal mask, gets the mean of all values and never NaN; such rows are padding and reach no other row.
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
            attn_mask: (T, S), added to the scores, or true where a key is hidden.
            before_softmax: not supported.
            need_head_weights: return the probabilities of each head.

        Returns: (T, B, E), and the probabilities (B, T, S) or (H, B, T, S) or None.

        Raises:
            ValueError: a use that rotation has no meaning for, such as keys from elsewhere.
        """
        if static_kv or before_softmax or any(x is not None and x is not query for x in (key, value)):
            raise ValueError("rotary attention is self-attention: no other keys, static_kv or before_softmax")
        q, k, v = (self._split_heads(proj(query)) for proj in (self.q_proj, self.k_proj, self.v_proj))
        cache: Cache = {} if incremental_state is None else self._get_input_buffer(incremental_state)
        previous = cache.get("prev_key")
        offset = 0 if previous is None else previous.size(2)
        q, k = self.rotary(q, offset=offset), self.rotary(k, offset=offset)
        if incremental_state is not None:
            k, v, key_padding_mask = _extend(cache, k, v, key_padding_mask)
            self._set_input_buffer(incremental_state, cache)
        bias = _score_bias(attn_mask, key_padding_mask, q)
        if need_weights or need_head_weights:
            attended, weights = self._attend_with_weights(q, k, v, bias)
        else:
            attended, weights = F.scaled_dot_product_attention(q, k, v, bias, self._dropout_now()), None
        # (B, H, T, D) -> (T, B, E)
        output = self.out_proj(attended.permute(2, 0, 1, 3).flatten(2))
        if weights is not None:
            # (B, H, T, S) -> (H, B, T, S) or (B, T, S)
            weights = weights.transpose(0, 1) if need_head_weights else weights.mean(dim=1)
        return output, weights

    def _split_heads(self, x: Tensor) -> Tensor:
        # (T, B, E) -> (B, H, T, D)
        return x.unflatten(-1, (self.num_heads, self.head_dim)).permute(1, 2, 0, 3)

    def _dropout_now(self) -> float:
        dropout = self.dropout_module
        return dropout.p if self.training or dropout.apply_during_inference else 0.0

    def _attend_with_weights(self, q: Tensor, k: Tensor, v: Tensor, bias: Tensor | None) -> tuple[Tensor, Tensor]:
        # (B, H, T, D), (B, H, S, D) -> (B, H, T, S)
        scores = (q * self.scaling) @ k.transpose(-2, -1)
        if bias is not None:
            scores = scores + bias
        weights = scores.softmax(dim=-1, dtype=torch.promote_types(q.dtype, torch.float32)).type_as(q)
        return self.dropout_module(weights) @ v, weights


def _extend(cache: Cache, k: Tensor, v: Tensor, padding: Tensor | None) -> tuple[Tensor, Tensor, Tensor | None]:
    """Append this step's rotated keys, values (B, H, T, D) and padding (B, T) to `cache`, and return all of them."""
    keys, values, hidden = (cache.get(name) for name in ("prev_key", "prev_value", "prev_key_padding_mask"))
    if keys is not None and values is not None:
        if padding is not None or hidden is not None:
            # a step without padding passes no mask, whatever the others did
            padding = torch.cat((_padding(hidden, keys), _padding(padding, k)), dim=1)
        k, v = torch.cat((keys, k), dim=2), torch.cat((values, v), dim=2)
    cache.update(prev_key=k, prev_value=v, prev_key_padding_mask=padding)
    return k, v, padding


def _padding(mask: Tensor | None, k: Tensor) -> Tensor:
    # (B, S), true at padding; no mask means none
    return k.new_zeros(k.size(0), k.size(2), dtype=torch.bool) if mask is None else mask.bool()


def _score_bias(attn_mask: Tensor | None, key_padding_mask: Tensor | None, q: Tensor) -> Tensor | None:
    """Join both masks into what is added to the scores: broadcastable to (B, H, T, S), in the type of `q`.

    Hidden keys get a finite value far below any score: with -inf a row without a visible key would be NaN.
    """
    if attn_mask is None and key_padding_mask is None:
        return None
    hidden = torch.finfo(q.dtype).min / 2
    bias = None
    if attn_mask is not None:
        if attn_mask.dtype == torch.bool:
            attn_mask = torch.zeros_like(attn_mask, dtype=q.dtype).masked_fill(attn_mask, hidden)
        # (T, S) -> (1, 1, T, S)
        bias = attn_mask.to(q.dtype).clamp(min=hidden)[None, None]
    if key_padding_mask is not None:
        # (B, S) -> (B, 1, 1, S)
        padding = key_padding_mask.bool()[:, None, None]
        bias = (padding.new_zeros((), dtype=q.dtype) if bias is None else bias).masked_fill(padding, hidden)
    return bias
