"""Encoder and decoder layers whose self-attention rotates, and what both stacks make of fairseq's parts.

The stacks hold one `RotaryEmbedding` and hand it to their layers through fairseq's build hooks.
"""

import logging
from typing import Any

from fairseq.distributed import fsdp_wrap
from fairseq.modules import FairseqDropout
from fairseq.modules.checkpoint_activations import checkpoint_wrapper
from fairseq.modules.quantization.scalar import utils as scalar_quantization
from fairseq.modules.transformer_layer import TransformerDecoderLayerBase, TransformerEncoderLayerBase
from torch import Tensor, nn

from fairseq_rope.modules.attention import RotaryMultiheadAttention
from fairseq_rope.modules.cpu.dropout import Dropout
from fairseq_rope.modules.cpu.linear import Linear
from fairseq_rope.modules.cross_attention import CrossAttention
from fairseq_rope.modules.positions.rotary import RotaryEmbedding

logger = logging.getLogger(__name__)

# what --quant-noise-scalar puts in the place of a layer, by the layer's very class
scalar_quantization.MAPPING[Linear] = scalar_quantization.MAPPING[nn.Linear]

# fairseq 0.12.2 alone registers copies of the layer's weights for a fused kernel that knows nothing of self_attn.
FAST_PATH_PARAMETERS = (
    *("in_proj_weight", "in_proj_bias", "out_proj_weight", "out_proj_bias"),
    *("fc1_weight", "fc1_bias", "fc2_weight", "fc2_bias"),
)


class RotaryEncoderLayer(TransformerEncoderLayerBase):
    """fairseq's encoder layer with rotary self-attention."""

    def __init__(self, cfg: Any, *, rotary: RotaryEmbedding, return_fc: bool = False):
        """Build the layer and, where fairseq has one (0.12.2), take its attention-skipping fast path away."""
        self.rotary = rotary
        super().__init__(cfg, return_fc=return_fc)
        use_own_parts(self, "TransformerEncoderLayerBase")
        self.can_use_fastpath = False
        for name in FAST_PATH_PARAMETERS:
            if name in self._parameters:
                delattr(self, name)

    def build_self_attention(self, embed_dim: int, cfg: Any) -> RotaryMultiheadAttention:
        """Build what fairseq's hook of this name builds, with rotation."""
        return _rotary_attention(self, embed_dim, cfg.encoder.attention_heads, cfg)

    def _load_from_state_dict(self, *args: Any) -> None:
        # fairseq 0.12.2 overrides this to fill the fast path's copies.
        nn.Module._load_from_state_dict(self, *args)


class RotaryDecoderLayer(TransformerDecoderLayerBase):
    """fairseq's decoder layer with rotary self-attention and cross-attention by sentence."""

    def __init__(self, cfg: Any, no_encoder_attn: bool = False, *, rotary: RotaryEmbedding):
        """Build the layer; `rotary` is shared by the stack."""
        self.rotary = rotary
        super().__init__(cfg, no_encoder_attn)
        use_own_parts(self, "TransformerDecoderLayerBase")
        # attention to the source is returned where it is asked for, and not always in evaluation
        self.need_attn = False

    def build_self_attention(
        self, embed_dim: int, cfg: Any, add_bias_kv: bool = False, add_zero_attn: bool = False
    ) -> RotaryMultiheadAttention:
        """Build what fairseq's hook of this name builds, with rotation.

        Raises:
            ValueError: extra keys are asked for; they stand at no position.
        """
        if add_bias_kv or add_zero_attn:
            raise ValueError("rotary attention does not support add_bias_kv and add_zero_attn")
        return _rotary_attention(self, embed_dim, cfg.decoder.attention_heads, cfg)

    def build_encoder_attention(self, embed_dim: int, cfg: Any) -> CrossAttention:
        """Build what fairseq's hook of this name builds."""
        attention = CrossAttention(
            embed_dim,
            cfg.decoder.attention_heads,
            kdim=cfg.encoder.embed_dim,
            vdim=cfg.encoder.embed_dim,
            dropout=cfg.attention_dropout,
            encoder_decoder_attention=True,
            q_noise=self.quant_noise,
            qn_block_size=self.quant_noise_block_size,
        )
        use_own_parts(attention, "MultiheadAttention")
        return attention


def _rotary_attention(layer: Any, embed_dim: int, num_heads: int, cfg: Any) -> RotaryMultiheadAttention:
    attention = RotaryMultiheadAttention(
        embed_dim,
        num_heads,
        rotary=layer.rotary,
        dropout=cfg.attention_dropout,
        q_noise=layer.quant_noise,
        qn_block_size=layer.quant_noise_block_size,
    )
    use_own_parts(attention, "MultiheadAttention")
    return attention


def use_own_parts(module: nn.Module, name: str) -> None:
    """Give the linear layers and dropouts that fairseq built in `module` our way of computing the same.

    Args:
        module: its children are changed, not theirs.
        name: the class that --retain-dropout-modules knows the dropouts by: of fairseq's transformer.
    """
    for child in module.children():
        # another class of the same attributes: parameters, names and hooks stay
        if type(child) is nn.Linear:
            child.__class__ = Linear
        elif isinstance(child, FairseqDropout):
            child.__class__ = Dropout
            child.module_name = name


def wrap(layer: nn.Module, cfg: Any) -> nn.Module:
    """Let a layer recompute its activations and be sharded, as configured."""
    if cfg.checkpoint_activations:
        layer = checkpoint_wrapper(layer, offload_to_cpu=cfg.offload_activations)
    # a checkpointed layer is sharded whatever its size, or its recomputation would gather it twice
    return fsdp_wrap(layer, min_num_params=0 if cfg.checkpoint_activations else cfg.min_params_to_wrap)


def drop_absolute_positions(state_dict: dict[str, Tensor], name: str) -> None:
    """Take the absolute positions of the stack `name` out of a stock checkpoint."""
    for key in [key for key in state_dict if key.startswith(f"{name}.embed_positions.")]:
        if key.endswith(".weight"):
            logger.warning("%s: learned positions of the checkpoint are dropped, for rotation replaces them", key)
        del state_dict[key]
