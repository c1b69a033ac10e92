"""Options of rotation, `--rope-*` with their defaults, and fairseq's options that cannot go with our attention."""

import math
from argparse import ArgumentParser, Namespace
from typing import Any

from fairseq.utils import safe_getattr

from fairseq_rope.models._scaling import (
    NO_SCALING,
    Scaling,
    add_scaling_options,
    scaled_schedule,
    set_scaling_defaults,
    stack_scaling,
)
from fairseq_rope.modules.positions.layouts import LAYOUTS
from fairseq_rope.modules.positions.rotary import RotaryEmbedding

# option of fairseq's transformer -> why our attention cannot go with it
_REFUSED = {
    "cross_self_attention": "it mixes two sequences' positions in one attention",
    "encoder_xformers_att_config": "xFormers' attention knows no position method",
    "decoder_xformers_att_config": "xFormers' attention knows no position method",
}
# options of fairseq's transformer that are probabilities
_PROBABILITIES = (
    *("dropout", "attention_dropout", "activation_dropout", "relu_dropout", "adaptive_softmax_dropout"),
    *("encoder_layerdrop", "decoder_layerdrop", "quant_noise_pq", "quant_noise_scalar"),
)

_LIMITS = ("max_source_positions", "max_target_positions")


def add_rope_options(parser: ArgumentParser) -> None:
    """Add `--rope-base`, `--rope-fraction`, `--rope-layout` and those of scaling."""
    parser.add_argument("--rope-base", type=float, metavar="B", help="base of the rotary frequencies")
    parser.add_argument(
        "--rope-fraction", type=float, metavar="F", help="share of each head's dimensions that rotates, in (0, 1]"
    )
    parser.add_argument(
        "--rope-layout",
        metavar="L",
        help=f"which dimensions form a pair: {', '.join(LAYOUTS)} (neighbors, or the halves of a head)",
    )
    add_scaling_options(parser)


def set_rope_defaults(args: Namespace) -> None:
    """Set RoFormer's rotation where nothing else is asked for."""
    args.rope_base = safe_getattr(args, "rope_base", 10000.0)
    args.rope_fraction = safe_getattr(args, "rope_fraction", 1.0)
    args.rope_layout = safe_getattr(args, "rope_layout", "interleaved")
    set_scaling_defaults(args)


def check_options(args: Namespace, *, model: str) -> None:
    """Check the options of fairseq's transformer.

    Raises:
        ValueError: one cannot go with `model`, is no probability or no limit; the text names it.
    """
    for option, reason in _REFUSED.items():
        if getattr(args, option, None):
            raise ValueError(f"--{option.replace('_', '-')} cannot be used with {model}: {reason}")
    for option in _PROBABILITIES:
        value = getattr(args, option, None) or 0.0
        if not (isinstance(value, int | float) and 0 <= value <= 1):
            raise ValueError(f"--{option.replace('_', '-')} must be in [0, 1], but is {value!r}")
    for option in _LIMITS:
        value = getattr(args, option, None)
        if value is not None and not (type(value) is int and 2 <= value < 2**31):  # true is none
            rule = "must be a whole number of at least 2, a word and </s>, and below 2^31"
            raise ValueError(f"--{option.replace('_', '-')} {rule}, but is {value!r}")


def stack_rotary_embedding(
    cfg: Any, stack: Any, *, side: str, method: type[RotaryEmbedding] = RotaryEmbedding
) -> RotaryEmbedding:
    """Build the rotation of a stack.

    Args:
        cfg: the model's configuration.
        stack: its part for this stack.
        side: encoder or decoder.
        method: what rotates.

    Raises:
        ValueError: see `stack_scaling` and `rotary_embedding`.
    """
    head_dim = stack.embed_dim // stack.attention_heads
    scaling = stack_scaling(cfg, side=side)
    options = {"base": cfg.rope_base, "fraction": cfg.rope_fraction, "layout": cfg.rope_layout}
    return rotary_embedding(head_dim, **options, scaling=scaling, method=method)


def rotary_embedding(
    head_dim: int,
    *,
    base: float,
    fraction: float,
    layout: str,
    scaling: Scaling = NO_SCALING,
    method: type[RotaryEmbedding] = RotaryEmbedding,
) -> RotaryEmbedding:
    """Build what `--rope-base`, `--rope-fraction`, ... describe for heads of `head_dim` dimensions.

    Raises:
        ValueError: an option breaks its rule; the text names the option, the rule and the value.
    """
    if not 0 < base < math.inf:
        raise ValueError(f"--rope-base must be above 0 and finite, but is {base}")
    if layout not in LAYOUTS:
        raise ValueError(f"--rope-layout must be one of {', '.join(LAYOUTS)}, but is {layout!r}")
    rotary_dim = _rotary_dim(head_dim, fraction)
    schedule = scaled_schedule(scaling, base=base, rotary_dim=rotary_dim)
    return method(rotary_dim, frequencies=schedule, layout=layout)


def _rotary_dim(head_dim: int, fraction: float) -> int:
    """Return how many of a head's dimensions rotate: `head_dim * fraction`, to the nearest integer."""
    if not 0 < fraction <= 1:
        raise ValueError(f"--rope-fraction must be in (0, 1], but is {fraction}")
    rotary_dim = round(head_dim * fraction)
    if rotary_dim % 2 or rotary_dim == 0:
        raise ValueError(
            f"--rope-fraction {fraction} of the head size {head_dim} gives a rotary size of {rotary_dim}, "
            "which must be even and above 0, because dimensions rotate in pairs"
        )
    return rotary_dim
