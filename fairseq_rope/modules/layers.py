"""Encoder and decoder stacks whose self-attention rotates; all else is fairseq's own.

The stacks hold one `RotaryEmbedding` and hand it to their layers through fairseq's build hooks.
"""

import logging
from typing import Any

from fairseq.distributed import fsdp_wrap
from fairseq.models.transformer import TransformerDecoderBase, TransformerEncoderBase
from fairseq.modules import FairseqDropout
from fairseq.modules.checkpoint_activations import checkpoint_wrapper
from fairseq.modules.transformer_layer import TransformerDecoderLayerBase, TransformerEncoderLayerBase
from torch import Tensor, nn

from fairseq_rope.modules.attention import RotaryMultiheadAttention
from fairseq_rope.modules.rotary import RotaryEmbedding

logger = logging.getLogger(__name__)

StateDict = dict[str, Tensor]

# fairseq 0.12.2 alone registers copies of the layer's weights for a fused kernel that knows nothing of self_attn.
_FAST_PATH_PARAMETERS = (
    *("in_proj_weight", "in_proj_bias", "out_proj_weight", "out_proj_bias"),
    *("fc1_weight", "fc1_bias", "fc2_weight", "fc2_bias"),
)


class RotaryEncoderLayer(TransformerEncoderLayerBase):
    """fairseq's encoder layer with rotary self-attention."""

    def __init__(self, cfg: Any, *, rotary: RotaryEmbedding, return_fc: bool = False):
        """Build the layer and, where fairseq has one (0.12.2), take its attention-skipping fast path away."""
        self.rotary = rotary
        super().__init__(cfg, return_fc=return_fc)
        _name_dropouts(self, "TransformerEncoderLayerBase")
        self.can_use_fastpath = False
        for name in _FAST_PATH_PARAMETERS:
            if name in self._parameters:
                delattr(self, name)

    def build_self_attention(self, embed_dim: int, cfg: Any) -> RotaryMultiheadAttention:
        """Build what fairseq's hook of this name builds, with rotation."""
        return _rotary_attention(self, embed_dim, cfg.encoder.attention_heads, cfg)

    def _load_from_state_dict(self, *args: Any) -> None:
        # fairseq 0.12.2 overrides this to fill the fast path's copies.
        nn.Module._load_from_state_dict(self, *args)


class RotaryDecoderLayer(TransformerDecoderLayerBase):
    """fairseq's decoder layer with rotary self-attention; cross-attention is untouched."""

    def __init__(self, cfg: Any, no_encoder_attn: bool = False, *, rotary: RotaryEmbedding):
        """Build the layer; `rotary` is shared by the stack."""
        self.rotary = rotary
        super().__init__(cfg, no_encoder_attn)
        _name_dropouts(self, "TransformerDecoderLayerBase")

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


class RotaryEncoder(TransformerEncoderBase):
    """fairseq's encoder made of rotary layers, without absolute positions."""

    def __init__(self, cfg: Any, dictionary: Any, embed_tokens: nn.Module, *, rotary: RotaryEmbedding):
        """Build the stack as fairseq does."""
        self.rotary = rotary
        super().__init__(cfg, dictionary, embed_tokens)
        _name_dropouts(self, "TransformerEncoder")

    def build_encoder_layer(self, cfg: Any) -> nn.Module:
        """Build one layer, with activation checkpointing and sharding as configured."""
        return _wrap(RotaryEncoderLayer(cfg, rotary=self.rotary, return_fc=self.return_fc), cfg)

    def upgrade_state_dict_named(self, state_dict: StateDict, name: str) -> StateDict:
        """Load stock `transformer` checkpoints of both fairseqs: absolute positions and 0.12.2's copies are dropped."""
        _drop_absolute_positions(state_dict, name)
        # of all layers in the checkpoint, also those that --encoder-layers-to-keep prunes later
        for key in [key for key in state_dict if key.startswith(f"{name}.layers.")]:
            if key.rpartition(".")[2] in _FAST_PATH_PARAMETERS:
                del state_dict[key]
        return super().upgrade_state_dict_named(state_dict, name)


class RotaryDecoder(TransformerDecoderBase):
    """fairseq's decoder made of rotary layers, without absolute positions."""

    def __init__(
        self,
        cfg: Any,
        dictionary: Any,
        embed_tokens: nn.Module,
        no_encoder_attn: bool = False,
        *,
        rotary: RotaryEmbedding,
    ):
        """Build the stack as fairseq does."""
        self.rotary = rotary
        super().__init__(cfg, dictionary, embed_tokens, no_encoder_attn=no_encoder_attn)
        _name_dropouts(self, "TransformerDecoder")

    def build_decoder_layer(self, cfg: Any, no_encoder_attn: bool = False) -> nn.Module:
        """Build one layer, with activation checkpointing and sharding as configured."""
        return _wrap(RotaryDecoderLayer(cfg, no_encoder_attn, rotary=self.rotary), cfg)

    def upgrade_state_dict_named(self, state_dict: StateDict, name: str) -> StateDict:
        """Load a stock `transformer` checkpoint: its absolute positions are dropped."""
        _drop_absolute_positions(state_dict, name)
        return super().upgrade_state_dict_named(state_dict, name)


def _rotary_attention(layer: Any, embed_dim: int, num_heads: int, cfg: Any) -> RotaryMultiheadAttention:
    attention = RotaryMultiheadAttention(
        embed_dim,
        num_heads,
        rotary=layer.rotary,
        dropout=cfg.attention_dropout,
        q_noise=layer.quant_noise,
        qn_block_size=layer.quant_noise_block_size,
    )
    _name_dropouts(attention, "MultiheadAttention")
    return attention


def _name_dropouts(module: nn.Module, name: str) -> None:
    # --retain-dropout-modules takes class names, and users know those of fairseq's transformer
    for child in module.children():
        if isinstance(child, FairseqDropout):
            child.module_name = name


def _wrap(layer: nn.Module, cfg: Any) -> nn.Module:
    if cfg.checkpoint_activations:
        layer = checkpoint_wrapper(layer, offload_to_cpu=cfg.offload_activations)
    # a checkpointed layer is sharded whatever its size, or its recomputation would gather it twice
    return fsdp_wrap(layer, min_num_params=0 if cfg.checkpoint_activations else cfg.min_params_to_wrap)


def _drop_absolute_positions(state_dict: StateDict, name: str) -> None:
    for key in [key for key in state_dict if key.startswith(f"{name}.embed_positions.")]:
        if key.endswith(".weight"):
            logger.warning("%s: learned positions of the checkpoint are dropped, for rotation replaces them", key)
        del state_dict[key]
