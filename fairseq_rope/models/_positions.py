"""`--position-method`: how a model knows positions, the method's defaults and what cannot go with it."""

from argparse import ArgumentParser, Namespace
from typing import Any

from fairseq.utils import safe_getattr

from fairseq_rope.models._options import add_rope_options, set_rope_defaults, stack_rotary_embedding
from fairseq_rope.models._scaling import check_one_stack
from fairseq_rope.modules.positions.alibi import ALiBi
from fairseq_rope.modules.positions.base import PositionMethod
from fairseq_rope.modules.positions.shaw import Shaw
from fairseq_rope.modules.positions.t5 import T5Bias
from fairseq_rope.modules.positions.xpos import XPos

_ROTARY = ("rope", "xpos")
# fairseq's own, added to the embeddings
_ABSOLUTE = ("sinusoidal", "learned")
POSITION_METHODS = (*_ROTARY, "none", *_ABSOLUTE, "alibi", "t5", "shaw")
# method -> why an encoder alone cannot use it
_WITH_DECODER = {
    "xpos": "its decay is for queries that see no later keys, and in an encoder it is rope",
    "alibi": "in an encoder keys at equal distances on both sides are alike, so that it would not know their order",
}


def add_position_options(parser: ArgumentParser) -> None:
    """Add `--position-method` and the options of rotation."""
    parser.add_argument(
        "--position-method", metavar="P", help=f"how positions are known: {', '.join(POSITION_METHODS)}"
    )
    add_rope_options(parser)
    parser.add_argument(
        "--rope-restart-after",
        metavar="TOKEN",
        help="count positions from 0 again after this token, such as a separator of sentences",
    )


def set_position_defaults(args: Namespace) -> None:
    """Set RoFormer's rotation where nothing else is asked for, and absolute positions as the method has them."""
    args.position_method = safe_getattr(args, "position_method", "rope")
    args.rope_restart_after = safe_getattr(args, "rope_restart_after", None)
    set_rope_defaults(args)
    is_absolute = args.position_method in _ABSOLUTE
    args.no_token_positional_embeddings = safe_getattr(args, "no_token_positional_embeddings", False) or not is_absolute
    if args.position_method == "learned":
        args.encoder_learned_pos = args.decoder_learned_pos = True


def check_position_options(args: Namespace) -> None:
    """Check the method and that all options of positions are its own.

    Raises:
        ValueError: the text names the option.
    """
    method = args.position_method
    if method not in POSITION_METHODS:
        raise ValueError(f"--position-method must be one of {', '.join(POSITION_METHODS)}, but is {method!r}")
    for option in ("encoder_learned_pos", "decoder_learned_pos"):
        if getattr(args, option, False) and method != "learned":
            raise _not_its_own(option, method)
    if args.no_token_positional_embeddings and method in _ABSOLUTE:
        raise _not_its_own("no_token_positional_embeddings", method)
    if method not in _ROTARY:
        defaults = Namespace(rope_restart_after=None)
        set_rope_defaults(defaults)
        for option, default in vars(defaults).items():
            if getattr(args, option) != default:
                raise _not_its_own(option, method)


def check_encoder_positions(args: Namespace, *, model: str) -> None:
    """Check what a model without decoder cannot have.

    Raises:
        ValueError: the text names the option.
    """
    method = args.position_method
    if method in _WITH_DECODER:
        raise ValueError(f"--position-method {method} cannot be used with {model}: {_WITH_DECODER[method]}")
    check_one_stack(args, model=model, missing="decoder")


def stack_position_method(cfg: Any, stack: Any, *, side: str) -> PositionMethod:
    """Build the method of a stack.

    Args:
        cfg: the model's configuration.
        stack: its part for this stack.
        side: encoder or decoder.

    Raises:
        ValueError: heads don't divide the model size, or an option of rotation breaks its rule.
    """
    heads = stack.attention_heads
    if heads < 1 or stack.embed_dim % heads:
        raise ValueError(
            f"--{side}-embed-dim must be a multiple of --{side}-attention-heads, but is {stack.embed_dim} with {heads}"
        )
    match cfg.position_method:
        case "xpos" if side == "decoder":
            return stack_rotary_embedding(cfg, stack, side=side, method=XPos)
        # in an encoder, whose queries see later keys, xPos' scores would grow with the distance
        case "rope" | "xpos":
            return stack_rotary_embedding(cfg, stack, side=side)
        case "alibi":
            return ALiBi(heads)
        case "t5":
            return T5Bias(heads, bidirectional=side == "encoder")
        case "shaw":
            return Shaw(stack.embed_dim // heads)
        case _:
            return PositionMethod()


def restart_token(cfg: Any, dictionary: Any) -> int | None:
    """Return the index of `--rope-restart-after`, or None.

    Raises:
        ValueError: the dictionary doesn't have it.
    """
    token = cfg.rope_restart_after
    if token is None:
        return None
    index: int = dictionary.index(token)
    if index == dictionary.unk():
        raise ValueError(f"--rope-restart-after must be a token of the dictionary, but is {token!r}")
    return index


def _not_its_own(option: str, method: str) -> ValueError:
    return ValueError(f"--{option.replace('_', '-')} cannot be used with --position-method {method}")
