"""Multi-head self-attention with a position method, in the place of fairseq's own."""

from dataclasses import dataclass
from typing import Any

import torch
from fairseq.modules import MultiheadAttention
from torch import Tensor, nn

from fairseq_rope.modules.attention_kernels import AttentionKernel, DecodingState, SoftmaxKernel
from fairseq_rope.modules.cpu.linear import Linear, linear
from fairseq_rope.modules.cpu.packing import PackedLinear, pack
from fairseq_rope.modules.cpu.thresholds import MIN_TOKENS_TO_JOIN
from fairseq_rope.modules.explicit_positions import Positioned
from fairseq_rope.modules.padding import Padding
from fairseq_rope.modules.positions.base import PositionMethod
from fairseq_rope.modules.token_rows import TokenRows

IncrementalState = dict[str, dict[str, Any]]
_STATE = "state"


@dataclass
class _Decoding:
    """What a layer keeps while it decodes: the kernel's state, and its weights joined once, where no gradient flows."""

    state: DecodingState
    projection: tuple[Tensor, Tensor] | None = None
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
        self.packed = pack(self.q_proj, self.k_proj, self.v_proj) if self._can_join() else None

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

        Returns: what has the shape of `query`, and the probabilities (B, T, S) or (H, B, T, S) or None.

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
        decoding = None if incremental_state is None else self._decoding(incremental_state)
        projected = self._project(query, decoding)
        rows = None
        if isinstance(key_padding_mask, TokenRows):
            rows, key_padding_mask = key_padding_mask, key_padding_mask.padding
            # (N, 3, H, D) -> (T, B, 3, H, D)
            projected = rows.restore(projected).transpose(0, 1)
        elif isinstance(key_padding_mask, Tensor):
            key_padding_mask = Padding(key_padding_mask)
        attended, weights = self.kernel.attend(
            projected,
            self.position_method,
            None if decoding is None else decoding.state,
            positions=self.positions,
            attn_mask=attn_mask,
            key_padding_mask=key_padding_mask,
            dropout=self.dropout_module,
            need_weights=need_weights or need_head_weights,
        )
        # (B, H, T, D) -> (B, T, E), as the fused kernels lay it in memory: no copy to keep
        attended = attended.transpose(1, 2).flatten(2)
        # -> (T, B, E) or (N, E)
        output = self.out_proj(attended).transpose(0, 1) if rows is None else self.out_proj(rows.take(attended))
        if weights is not None:
            # (B, H, T, S) -> (H, B, T, S) or (B, T, S)
            weights = weights.transpose(0, 1) if need_head_weights else weights.mean(dim=1)
        return output, weights

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
        joined = None
        if self.packed is not None and self._can_join():  # layers and hooks may have changed since
            joined = self.packed.product(query, self.q_proj, self.k_proj, self.v_proj)
        if joined is None:
            joined = self._joined_product(query, decoding)
        return joined.view(*query.shape[:-1], 3, self.num_heads, self.head_dim)

    def _joined_product(self, query: Tensor, decoding: _Decoding | None) -> Tensor:
        """Return queries, keys and values, (..., 3 E)."""
        if decoding is not None and not torch.is_grad_enabled():
            if not decoding.is_joined:
                decoding.projection, decoding.is_joined = self._joined_projection(), True
            projection = decoding.projection
        else:
            is_large = query.shape[:-1].numel() >= MIN_TOKENS_TO_JOIN
            projection = self._joined_projection() if is_large else None
        if projection is not None:
            return linear(query, *projection)
        return torch.cat([proj(query) for proj in (self.q_proj, self.k_proj, self.v_proj)], dim=-1)

    def _joined_projection(self) -> tuple[Tensor, Tensor] | None:
        """Return one weight and bias, (3 E, E) and (3 E,), or None where each layer is called by itself."""
        if not self._can_join():
            return None
        projections = (self.q_proj, self.k_proj, self.v_proj)
        return torch.cat([proj.weight for proj in projections]), torch.cat([proj.bias for proj in projections])

    def _can_join(self) -> bool:
        """Return whether no layer is another one or has hooks, such as those of quantization noise."""
        return all(type(proj) is Linear and not _has_hooks(proj) for proj in (self.q_proj, self.k_proj, self.v_proj))


def _has_hooks(layer: nn.Module) -> bool:
    backward = layer._backward_hooks or layer._backward_pre_hooks
    return bool(layer._forward_pre_hooks or layer._forward_hooks or backward)
