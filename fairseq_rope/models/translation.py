"""The model `transformer_rope` and its named architectures.

A subclass of fairseq's legacy `TransformerModel`, because dataclass options of a plugin break multi-GPU spawn:
children unpickle the configuration before they import the plugin.
"""

from argparse import ArgumentParser, Namespace
from typing import Any

from fairseq.models import register_model, register_model_architecture
from fairseq.models.transformer import TransformerConfig, TransformerModel, transformer_legacy
from torch import Tensor, nn

from fairseq_rope.models._feed_forward import add_ffn_option, check_ffn, set_ffn_default
from fairseq_rope.models._options import check_options
from fairseq_rope.models._positions import (
    add_position_options,
    check_position_options,
    restart_token,
    set_position_defaults,
    stack_position_method,
)
from fairseq_rope.modules.cpu import accelerate
from fairseq_rope.modules.decoder import Decoder
from fairseq_rope.modules.encoder import Encoder


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
        add_position_options(parser)
        add_ffn_option(parser)

    @classmethod
    def build_model(cls, args: Namespace, task: Any) -> "TransformerRopeModel":
        """Build the model.

        Raises:
            ValueError: an option breaks its rule or cannot go with rotation; the text names it.
        """
        transformer_rope(args)  # a checkpoint of an older version may lack an option
        check_options(args, model="transformer_rope")
        check_position_options(args)
        check_ffn(args)
        model: TransformerRopeModel = super().build_model(args, task)
        model.decoder.configure(task)
        accelerate(model)
        return model

    def set_beam_size(self, beam_size: int) -> None:
        """Keep the source's keys and values once for each sentence in searches of this width; fairseq's calls it."""
        self.encoder.beam_size = beam_size

    @classmethod
    def build_encoder(cls, args: Any, src_dict: Any, embed_tokens: nn.Module) -> Encoder:
        """Build the encoder."""
        cfg = TransformerConfig.from_namespace(args)
        method = stack_position_method(cfg, cfg.encoder, side="encoder")
        encoder = Encoder(cfg, src_dict, embed_tokens, position_method=method)
        encoder.restart_after = restart_token(cfg, src_dict)
        return encoder

    @classmethod
    def build_decoder(cls, args: Any, tgt_dict: Any, embed_tokens: nn.Module) -> Decoder:
        """Build the decoder."""
        cfg = TransformerConfig.from_namespace(args)
        method = stack_position_method(cfg, cfg.decoder, side="decoder")
        no_encoder_attn = cfg.no_cross_attention
        decoder = Decoder(cfg, tgt_dict, embed_tokens, no_encoder_attn=no_encoder_attn, position_method=method)
        decoder.restart_after = restart_token(cfg, tgt_dict)
        return decoder

    def forward(
        self, *args: Any, src_positions: Tensor | None = None, tgt_positions: Tensor | None = None, **options: Any
    ) -> tuple[Tensor, dict[str, Any]]:
        """Return fairseq's output for a batch; its `net_input` may say where the tokens stand.

        Args:
            args: fairseq's arguments.
            src_positions: of `src_tokens`, (B, S), whole or real numbers, padding too; None: side by side.
            tgt_positions: of `prev_output_tokens`, (B, T).
            options: fairseq's keyword arguments.

        Raises:
            ValueError: the position method does not take positions, or they are not as many as the tokens.
        """
        with self.encoder.at(src_positions), self.decoder.at(tgt_positions):
            output: tuple[Tensor, dict[str, Any]] = super().forward(*args, **options)
        return output


def _set_defaults(args: Namespace) -> None:
    """Set what the options of our own stand for; before fairseq's arch sets its own."""
    set_position_defaults(args)
    set_ffn_default(args)


@register_model_architecture("transformer_rope", "transformer_rope")
def transformer_rope(args: Namespace) -> None:
    """Set fairseq's base sizes (Vaswani et al. base) and the rotation's defaults (RoFormer's)."""
    _set_defaults(args)
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
    _set_defaults(args)
    transformer_legacy.transformer_iwslt_de_en(args)


@register_model_architecture("transformer_rope", "transformer_rope_wmt_en_de")
def transformer_rope_wmt_en_de(args: Namespace) -> None:
    """Set the sizes of fairseq's `transformer_wmt_en_de`: the paper's model."""
    _set_defaults(args)
    transformer_legacy.transformer_wmt_en_de(args)


@register_model_architecture("transformer_rope", "transformer_rope_vaswani_wmt_en_de_big")
def transformer_rope_vaswani_wmt_en_de_big(args: Namespace) -> None:
    """Set the sizes of fairseq's `transformer_vaswani_wmt_en_de_big`."""
    _set_defaults(args)
    transformer_legacy.transformer_vaswani_wmt_en_de_big(args)


@register_model_architecture("transformer_rope", "transformer_rope_vaswani_wmt_en_fr_big")
def transformer_rope_vaswani_wmt_en_fr_big(args: Namespace) -> None:
    """Set the sizes of fairseq's `transformer_vaswani_wmt_en_fr_big`."""
    _set_defaults(args)
    transformer_legacy.transformer_vaswani_wmt_en_fr_big(args)


@register_model_architecture("transformer_rope", "transformer_rope_wmt_en_de_big")
def transformer_rope_wmt_en_de_big(args: Namespace) -> None:
    """Set the sizes of fairseq's `transformer_wmt_en_de_big`."""
    _set_defaults(args)
    transformer_legacy.transformer_wmt_en_de_big(args)


@register_model_architecture("transformer_rope", "transformer_rope_wmt_en_de_big_t2t")
def transformer_rope_wmt_en_de_big_t2t(args: Namespace) -> None:
    """Set the sizes of fairseq's `transformer_wmt_en_de_big_t2t`: pre-norm."""
    _set_defaults(args)
    transformer_legacy.transformer_wmt_en_de_big_t2t(args)
