"""The model `transformer_rope` and its named architectures.

A subclass of fairseq's legacy `TransformerModel`, because dataclass options of a plugin break multi-GPU spawn:
children unpickle the configuration before they import the plugin.
"""

from argparse import ArgumentParser, Namespace
from typing import Any

from fairseq.models import register_model, register_model_architecture
from fairseq.models.transformer import TransformerModel, transformer_legacy
from fairseq.utils import safe_getattr
from torch import Tensor, nn

from fairseq_rope.compat.hydra_options import as_namespace
from fairseq_rope.models._stacks import (
    add_stack_options,
    build_decoder,
    build_encoder,
    check_stack_options,
    set_stack_defaults,
)
from fairseq_rope.modules.cpu import accelerate
from fairseq_rope.modules.decoder import Decoder
from fairseq_rope.modules.encoder import Encoder


@register_model("transformer_rope")
class TransformerRopeModel(TransformerModel):
    """fairseq's `transformer` with rotary position embedding, or another method, in encoder and decoder self-attention.

    Beside rotation no absolute position is added anywhere, and cross-attention is not rotated (RoFormer, section 4.1).
    Parameters and state_dict keys are those of `transformer` without positions; a stock checkpoint loads with
    `strict=True`.
    """

    @classmethod
    def hub_models(cls) -> dict[str, Any]:
        """Offer no archives: fairseq's are of the sinusoidal model."""
        return {}

    @classmethod
    def add_args(cls, parser: ArgumentParser) -> None:
        """Add all options of `transformer` and our own; defaults stand in `transformer_rope`."""
        super().add_args(parser)
        add_stack_options(parser)

    @classmethod
    def build_model(cls, args: Namespace, task: Any) -> "TransformerRopeModel":
        """Build the model.

        Raises:
            ValueError: an option breaks its rule or cannot go with another; the text names it.
        """
        args = as_namespace(args, cls)
        transformer_rope(args)  # a checkpoint of an older version may lack an option
        check_stack_options(args, model="transformer_rope")
        model: TransformerRopeModel = super().build_model(args, task)
        model.decoder.configure(task)
        accelerate(model)
        return model

    def set_beam_size(self, beam_size: int) -> None:
        """Keep the source's keys and values once for each sentence in searches of this width; fairseq's calls it."""
        self.encoder.beam_size = beam_size

    def prepare_for_inference_(self, cfg: Any) -> None:
        """Get ready for a search; with `--bf16` in bfloat16, which `fairseq-generate` leaves out."""
        # without a path the options are those of the training, which `from_pretrained` passes on
        if cfg.common.bf16 and cfg.common_eval.path:
            self.bfloat16()
        super().prepare_for_inference_(cfg)

    @classmethod
    def build_encoder(cls, args: Any, src_dict: Any, embed_tokens: nn.Module) -> Encoder:
        """Build the encoder."""
        return build_encoder(args, src_dict, embed_tokens, kind=Encoder)

    @classmethod
    def build_decoder(cls, args: Any, tgt_dict: Any, embed_tokens: nn.Module) -> Decoder:
        """Build the decoder."""
        return build_decoder(args, tgt_dict, embed_tokens)

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
        if len(args) < 4:  # it would keep the output of each layer of the encoder, which it doesn't return
            options.setdefault("return_all_hiddens", False)
        with self.encoder.at(src_positions), self.decoder.at(tgt_positions):
            output: tuple[Tensor, dict[str, Any]] = super().forward(*args, **options)
        return output


@register_model_architecture("transformer_rope", "transformer_rope")
def transformer_rope(args: Namespace) -> None:
    """Set fairseq's base sizes (Vaswani et al. base) and the rotation's defaults (RoFormer's)."""
    set_stack_defaults(args)
    transformer_legacy.base_architecture(args)


@register_model_architecture("transformer_rope", "transformer_rope_tiny")
def transformer_rope_tiny(args: Namespace) -> None:
    """Set the Transformer-Tiny of Wu et al. (ACL 2021) for small corpora such as Multi30k."""
    args.encoder_embed_dim = safe_getattr(args, "encoder_embed_dim", 128)
    args.encoder_ffn_embed_dim = safe_getattr(args, "encoder_ffn_embed_dim", 256)
    args.encoder_layers = safe_getattr(args, "encoder_layers", 4)
    args.encoder_attention_heads = safe_getattr(args, "encoder_attention_heads", 4)
    args.decoder_layers = safe_getattr(args, "decoder_layers", 4)
    args.decoder_attention_heads = safe_getattr(args, "decoder_attention_heads", 4)
    args.dropout = safe_getattr(args, "dropout", 0.3)
    args.share_all_embeddings = safe_getattr(args, "share_all_embeddings", True)
    transformer_rope(args)


@register_model_architecture("transformer_rope", "transformer_rope_iwslt_de_en")
def transformer_rope_iwslt_de_en(args: Namespace) -> None:
    """Set the sizes of fairseq's `transformer_iwslt_de_en`."""
    set_stack_defaults(args)
    transformer_legacy.transformer_iwslt_de_en(args)


@register_model_architecture("transformer_rope", "transformer_rope_wmt_en_de")
def transformer_rope_wmt_en_de(args: Namespace) -> None:
    """Set the sizes of fairseq's `transformer_wmt_en_de`: the paper's model."""
    set_stack_defaults(args)
    transformer_legacy.transformer_wmt_en_de(args)


@register_model_architecture("transformer_rope", "transformer_rope_vaswani_wmt_en_de_big")
def transformer_rope_vaswani_wmt_en_de_big(args: Namespace) -> None:
    """Set the sizes of fairseq's `transformer_vaswani_wmt_en_de_big`."""
    set_stack_defaults(args)
    transformer_legacy.transformer_vaswani_wmt_en_de_big(args)


@register_model_architecture("transformer_rope", "transformer_rope_vaswani_wmt_en_fr_big")
def transformer_rope_vaswani_wmt_en_fr_big(args: Namespace) -> None:
    """Set the sizes of fairseq's `transformer_vaswani_wmt_en_fr_big`."""
    set_stack_defaults(args)
    transformer_legacy.transformer_vaswani_wmt_en_fr_big(args)


@register_model_architecture("transformer_rope", "transformer_rope_wmt_en_de_big")
def transformer_rope_wmt_en_de_big(args: Namespace) -> None:
    """Set the sizes of fairseq's `transformer_wmt_en_de_big`."""
    set_stack_defaults(args)
    transformer_legacy.transformer_wmt_en_de_big(args)


@register_model_architecture("transformer_rope", "transformer_rope_wmt_en_de_big_t2t")
def transformer_rope_wmt_en_de_big_t2t(args: Namespace) -> None:
    """Set the sizes of fairseq's `transformer_wmt_en_de_big_t2t`: pre-norm."""
    set_stack_defaults(args)
    transformer_legacy.transformer_wmt_en_de_big_t2t(args)
