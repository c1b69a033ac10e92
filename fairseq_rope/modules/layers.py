"""Encoder and decoder layers whose self-attention asks a position method, and what both stacks need.

The stacks hold one `PositionMethod` and hand it to their layers through fairseq's build hooks.
"""

from typing import Any

from fairseq.distributed import fsdp_wrap
from fairseq.modules.checkpoint_activations import checkpoint_wrapper
from fairseq.modules.transformer_layer import TransformerDecoderLayerBase, TransformerEncoderLayerBase
from torch import nn

from fairseq_rope.compat.fast_path import NoFastPath
from fairseq_rope.modules.attention import SelfAttention
from fairseq_rope.modules.cross_attention import CrossAttention
from fairseq_rope.modules.explicit_positions import PositionedLayer
from fairseq_rope.modules.feed_forward import GatedFeedForward
from fairseq_rope.modules.positions.base import PositionMethod
from fairseq_rope.modules.selected_tokens import SelectedTokens


class EncoderLayer(PositionedLayer, SelectedTokens, NoFastPath, GatedFeedForward, TransformerEncoderLayerBase):
    """fairseq's encoder layer with our self-attention."""

    def __init__(self, cfg: Any, *, position_method: PositionMethod, return_fc: bool = False):
        self.position_method = position_method  # before fairseq builds the attention
        super().__init__(cfg, return_fc=return_fc)
        self.drop_fast_path()

    def build_self_attention(self, embed_dim: int, cfg: Any) -> SelfAttention:
        """Build what fairseq's hook of this name builds, with positions."""
        return _self_attention(self, embed_dim, cfg.encoder.attention_heads, cfg)


class DecoderLayer(PositionedLayer, GatedFeedForward, TransformerDecoderLayerBase):
    """fairseq's decoder layer with our self-attention, and cross-attention by sentence."""

    def __init__(self, cfg: Any, no_encoder_attn: bool = False, *, position_method: PositionMethod):
        self.position_method = position_method  # before fairseq builds the attention
        super().__init__(cfg, no_encoder_attn)
        # attention to the source is returned where it is asked for, and not always in evaluation
        self.need_attn = False

    def build_self_attention(
        self, embed_dim: int, cfg: Any, add_bias_kv: bool = False, add_zero_attn: bool = False
    ) -> SelfAttention:
        """Build what fairseq's hook of this name builds, with positions.

        Raises:
            ValueError: extra keys are asked for; they stand at no position.
        """
        if add_bias_kv or add_zero_attn:
            raise ValueError("self-attention with positions does not support add_bias_kv and add_zero_attn")
        return _self_attention(self, embed_dim, cfg.decoder.attention_heads, cfg)

    def build_encoder_attention(self, embed_dim: int, cfg: Any) -> CrossAttention:
        """Build what fairseq's hook of this name builds."""
        return CrossAttention(
            embed_dim,
            cfg.decoder.attention_heads,
            kdim=cfg.encoder.embed_dim,
            vdim=cfg.encoder.embed_dim,
            dropout=cfg.attention_dropout,
            encoder_decoder_attention=True,
            q_noise=self.quant_noise,
            qn_block_size=self.quant_noise_block_size,
        )


def _self_attention(layer: Any, embed_dim: int, num_heads: int, cfg: Any) -> SelfAttention:
    return SelfAttention(
        embed_dim,
        num_heads,
        position_method=layer.position_method,
        dropout=cfg.attention_dropout,
        q_noise=layer.quant_noise,
        qn_block_size=layer.quant_noise_block_size,
    )


def wrap(layer: nn.Module, cfg: Any) -> nn.Module:
    """Let a layer recompute its activations and be sharded, as configured."""
    if cfg.checkpoint_activations:
        layer = checkpoint_wrapper(layer, offload_to_cpu=cfg.offload_activations)
    # a checkpointed layer is sharded whatever its size, or its recomputation would gather it twice
    return fsdp_wrap(layer, min_num_params=0 if cfg.checkpoint_activations else cfg.min_params_to_wrap)
