"""The option `--ffn`: an activation of fairseq's by its name, or a gated feed-forward layer."""

from argparse import ArgumentParser, Namespace

from fairseq import utils
from fairseq.utils import safe_getattr

# --ffn -> the --activation-fn that it stands for
_ACTIVATIONS = {**{name: name for name in utils.get_available_activation_fns()}, "geglu": "gelu", "swiglu": "swish"}


def add_ffn_option(parser: ArgumentParser) -> None:
    """Add `--ffn`."""
    parser.add_argument(
        "--ffn",
        metavar="F",
        help=f"feed-forward layers: {', '.join(_ACTIVATIONS)}; the last two are gated, with as many parameters",
    )


def set_ffn_default(args: Namespace) -> None:
    """Set the activation that `--ffn` stands for; without it all is as `--activation-fn` says.

    To be called before fairseq's arch sets an activation: one that is there was asked for.
    """
    args.ffn = safe_getattr(args, "ffn", None)
    if args.ffn in _ACTIVATIONS:
        args.activation_fn = safe_getattr(args, "activation_fn", _ACTIVATIONS[args.ffn])


def check_ffn(args: Namespace) -> None:
    """Check `--ffn`.

    Raises:
        ValueError: it is none of its values, or another option contradicts it; the text names it.
    """
    if args.ffn is None:
        return
    if args.ffn not in _ACTIVATIONS:
        raise ValueError(f"--ffn must be one of {', '.join(_ACTIVATIONS)}, but is {args.ffn!r}")
    given, activation = args.activation_fn, _ACTIVATIONS[args.ffn]
    if given != activation:
        raise ValueError(
            f"--activation-fn {given} cannot be used with --ffn {args.ffn}: its activation is {activation}"
        )
    if activation != args.ffn and getattr(args, "base_layers", 0):
        raise ValueError(f"--base-layers cannot be used with --ffn {args.ffn}: their experts are not gated")
