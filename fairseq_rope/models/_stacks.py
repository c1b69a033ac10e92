"""What the models share: the options of their stacks, with defaults and checks, and the stacks themselves."""

from argparse import ArgumentParser, Namespace
from typing import Any, TypeVar

from fairseq.models.transformer import TransformerConfig
from torch import nn

from fairseq_rope.models._feed_forward import add_ffn_option, check_ffn, set_ffn_default
from fairseq_rope.models._options import check_options
from fairseq_rope.models._positions import (
    add_position_options,
    check_position_options,
    restart_token,
    set_position_defaults,
    stack_position_method,
)
from fairseq_rope.modules.decoder import Decoder
from fairseq_rope.modules.encoder import Encoder

EncoderKind = TypeVar("EncoderKind", bound=Encoder)


def add_stack_options(parser: ArgumentParser) -> None:
    """Add `--position-method`, the options of rotation and `--ffn`."""
    add_position_options(parser)
    add_ffn_option(parser)


def set_stack_defaults(args: Namespace) -> None:
    """Set what the options of our own stand for; before fairseq's arch sets its own."""
    set_position_defaults(args)
    set_ffn_default(args)


def check_stack_options(args: Namespace, *, model: str) -> None:
    """Check the options of fairseq's transformer and our own.

    Raises:
        ValueError: one breaks its rule or cannot go with `model`; the text names it.
    """
    check_options(args, model=model)
    check_position_options(args)
    check_ffn(args)


def build_encoder(args: Any, dictionary: Any, embed_tokens: nn.Module, *, kind: type[EncoderKind]) -> EncoderKind:
    """Build an encoder of this class.

    Raises:
        ValueError: an option of positions breaks its rule; the text names it.
    """
    cfg = TransformerConfig.from_namespace(args)
    method = stack_position_method(cfg, cfg.encoder, side="encoder")
    encoder = kind(cfg, dictionary, embed_tokens, position_method=method)
    encoder.restart_after = restart_token(cfg, dictionary)
    return encoder


def build_decoder(args: Any, dictionary: Any, embed_tokens: nn.Module) -> Decoder:
    """Build a decoder.

    Raises:
        ValueError: see `build_encoder`.
    """
    cfg = TransformerConfig.from_namespace(args)
    method = stack_position_method(cfg, cfg.decoder, side="decoder")
    no_encoder_attn = cfg.no_cross_attention
    decoder = Decoder(cfg, dictionary, embed_tokens, no_encoder_attn=no_encoder_attn, position_method=method)
    decoder.restart_after = restart_token(cfg, dictionary)
    return decoder
