"""The model `transformer_rope` and its named architectures.

A subclass of fairseq's legacy `TransformerModel`, because dataclass options of a plugin break multi-GPU spawn:
children unpickle the configuration before they import the plugin.
"""

from argparse import ArgumentParser, Namespace
from typing import Any

from fairseq.models import register_model, register_model_architecture
from fairseq.models.transformer import TransformerConfig, TransformerModel, transformer_legacy
from torch import nn

from fairseq_rope.modules.decoder import RotaryDecoder
from fairseq_rope.modules.encoder import RotaryEncoder
from fairseq_rope.modules.positions.rotary import LAYOUTS, RotaryEmbedding, rotary_embedding

# option of fairseq's transformer -> why rotation cannot go with it
_REFUSED = {
    "encoder_learned_pos": "positions are rotations",
    "decoder_learned_pos": "positions are rotations",
    "cross_self_attention": "it mixes two sequences' positions in one attention",
    "encoder_xformers_att_config": "xFormers' attention does not rotate",
    "decoder_xformers_att_config": "xFormers' attention does not rotate",
}
# options of fairseq's transformer that are probabilities
_PROBABILITIES = (
    *("dropout", "attention_dropout", "activation_dropout", "relu_dropout", "adaptive_softmax_dropout"),
    *("encoder_layerdrop", "decoder_layerdrop", "quant_noise_pq", "quant_noise_scalar"),
)


@register_model("transformer_rope")
class TransformerRopeModel(TransformerModel):
    """fairseq's `transformer` with rotary position embedding in encoder and decoder self-attention.

    No absolute position is added anywhere and cross-attention is not rotated (RoFormer, section 4.1). Parameters
    and state_dict keys are those of `transformer` without positions; a stock checkpoint loads with `strict=True`.
    """

    @classmethod
    def hub_models(cls) -> dict[str, Any]:
        """Offer no archives: fairseq's are of the sinusoidal model."""
        return {}

    @classmethod
    def add_args(cls, parser: ArgumentParser) -> None:
        """Add all options of `transformer` and the rotation's own; defaults stand in `transformer_rope`."""
        super().add_args(parser)
        parser.add_argument("--rope-base", type=float, metavar="B", help="base of the rotary frequencies")
        parser.add_argument(
            "--rope-fraction", type=float, metavar="F", help="share of each head's dimensions that rotates, in (0, 1]"
        )
        parser.add_argument(
            "--rope-layout",
            metavar="L",
            help=f"which dimensions form a pair: {', '.join(LAYOUTS)} (neighbours, or the halves of a head)",
        )

    @classmethod
    def build_model(cls, args: Namespace, task: Any) -> "TransformerRopeModel":
        """Build the model.

        Raises:
            ValueError: an option breaks its rule or cannot go with rotation; the text names it.
        """
        transformer_rope(args)
        for option, reason in _REFUSED.items():
            if getattr(args, option, None):
                raise ValueError(f"--{option.replace('_', '-')} cannot be used with transformer_rope: {reason}")
        for option in _PROBABILITIES:
            value = getattr(args, option, None) or 0.0
            if not (isinstance(value, int | float) and 0 <= value <= 1):
                raise ValueError(f"--{option.replace('_', '-')} must be in [0, 1], but is {value!r}")
        model = super().build_model(args, task)
        model.decoder.returns_attention = bool(getattr(task.cfg, "load_alignments", False))
        model.decoder.left_pad_target = bool(getattr(task.cfg, "left_pad_target", True))
        return model

    def set_beam_size(self, beam_size: int) -> None:
        """Keep the source's keys and values once for each sentence in searches of this width; fairseq's calls it."""
        self.encoder.beam_size = beam_size

    @classmethod
    def build_encoder(cls, args: Any, src_dict: Any, embed_tokens: nn.Module) -> RotaryEncoder:
        """Build the rotary encoder."""
        cfg = TransformerConfig.from_namespace(args)
        return RotaryEncoder(cfg, src_dict, embed_tokens, rotary=_rotary(cfg, cfg.encoder, "encoder"))

    @classmethod
    def build_decoder(cls, args: Any, tgt_dict: Any, embed_tokens: nn.Module) -> RotaryDecoder:
        """Build the rotary decoder."""
        cfg = TransformerConfig.from_namespace(args)
        rotary = _rotary(cfg, cfg.decoder, "decoder")
        return RotaryDecoder(cfg, tgt_dict, embed_tokens, no_encoder_attn=cfg.no_cross_attention, rotary=rotary)


def _rotary(cfg: Any, stack: Any, side: str) -> RotaryEmbedding:
    if stack.attention_heads < 1 or stack.embed_dim % stack.attention_heads:
        raise ValueError(
            f"--{side}-embed-dim must be a multiple of --{side}-attention-heads, "
            f"but is {stack.embed_dim} with {stack.attention_heads}"
        )
    head_dim = stack.embed_dim // stack.attention_heads
    return rotary_embedding(head_dim, base=cfg.rope_base, fraction=cfg.rope_fraction, layout=cfg.rope_layout)


def _rope_defaults(args: Namespace) -> None:
    args.rope_base = getattr(args, "rope_base", 10000.0)
    args.rope_fraction = getattr(args, "rope_fraction", 1.0)
    args.rope_layout = getattr(args, "rope_layout", "interleaved")
    args.no_token_positional_embeddings = True


@register_model_architecture("transformer_rope", "transformer_rope")
def transformer_rope(args: Namespace) -> None:
    """Set fairseq's base sizes (Vaswani et al. base) and the rotation's defaults (RoFormer's)."""
    _rope_defaults(args)
    transformer_legacy.base_architecture(args)


@register_model_architecture("transformer_rope", "transformer_rope_tiny")
def transformer_rope_tiny(args: Namespace) -> None:
    """Set the Transformer-Tiny of Wu et al. (ACL 2021) for small corpora such as Multi30k."""
    args.encoder_embed_dim = getattr(args, "encoder_embed_dim", 128)
    args.encoder_ffn_embed_dim = getattr(args, "encoder_ffn_embed_dim", 256)
    args.encoder_layers = getattr(args, "encoder_layers", 4)
    args.encoder_attention_heads = getattr(args, "encoder_attention_heads", 4)
    args.decoder_layers = getattr(args, "decoder_layers", 4)
    args.decoder_attention_heads = getattr(args, "decoder_attention_heads", 4)
    args.dropout = getattr(args, "dropout", 0.3)
    args.share_all_embeddings = getattr(args, "share_all_embeddings", True)
    transformer_rope(args)


@register_model_architecture("transformer_rope", "transformer_rope_iwslt_de_en")
def transformer_rope_iwslt_de_en(args: Namespace) -> None:
    """Set the sizes of fairseq's `transformer_iwslt_de_en`."""
    _rope_defaults(args)
    transformer_legacy.transformer_iwslt_de_en(args)


@register_model_architecture("transformer_rope", "transformer_rope_wmt_en_de")
def transformer_rope_wmt_en_de(args: Namespace) -> None:
    """Set the sizes of fairseq's `transformer_wmt_en_de`: the paper's model."""
    _rope_defaults(args)
    transformer_legacy.transformer_wmt_en_de(args)


@register_model_architecture("transformer_rope", "transformer_rope_vaswani_wmt_en_de_big")
def transformer_rope_vaswani_wmt_en_de_big(args: Namespace) -> None:
    """Set the sizes of fairseq's `transformer_vaswani_wmt_en_de_big`."""
    _rope_defaults(args)
    transformer_legacy.transformer_vaswani_wmt_en_de_big(args)


@register_model_architecture("transformer_rope", "transformer_rope_vaswani_wmt_en_fr_big")
def transformer_rope_vaswani_wmt_en_fr_big(args: Namespace) -> None:
    """Set the sizes of fairseq's `transformer_vaswani_wmt_en_fr_big`."""
    _rope_defaults(args)
    transformer_legacy.transformer_vaswani_wmt_en_fr_big(args)


@register_model_architecture("transformer_rope", "transformer_rope_wmt_en_de_big")
def transformer_rope_wmt_en_de_big(args: Namespace) -> None:
    """Set the sizes of fairseq's `transformer_wmt_en_de_big`."""
    _rope_defaults(args)
    transformer_legacy.transformer_wmt_en_de_big(args)


@register_model_architecture("transformer_rope", "transformer_rope_wmt_en_de_big_t2t")
def transformer_rope_wmt_en_de_big_t2t(args: Namespace) -> None:
    """Set the sizes of fairseq's `transformer_wmt_en_de_big_t2t`: pre-norm."""
    _rope_defaults(args)
    transformer_legacy.transformer_wmt_en_de_big_t2t(args)
