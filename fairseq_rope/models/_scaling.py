"""Options for inputs that are longer than those of the training: `--rope-scaling*`, `--rope-original-length`.

Each takes one value for both stacks, or two as ENCODER,DECODER: fairseq moves options that start with encoder_ or
decoder_ elsewhere. `--model-overrides` gives them as text, int or float.
"""

import functools
import math
from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from typing import Any, NamedTuple

from fairseq.utils import safe_getattr

from fairseq_rope.modules.positions import frequencies
from fairseq_rope.modules.positions.frequencies import Frequencies, FrequencySchedule

_SCHEDULES: dict[str, Callable[..., Frequencies]] = {
    "none": frequencies.inverse_frequencies,
    "linear": frequencies.linear,
    "ntk": frequencies.ntk,
    "yarn": frequencies.yarn,
    "llama3": frequencies.llama3,
}
_WITH_LENGTH = ("yarn", "llama3")
_SIDES = ("encoder", "decoder")
_MAX_LENGTH = 2**31 - 1
_PAIR = "or two as ENCODER,DECODER"


class Scaling(NamedTuple):
    """What a stack's options say: one of `--rope-scaling`, s and L; the last two count where the schedule has them."""

    name: str = "none"
    factor: float = 1.0
    original_length: int = 1

    def __str__(self) -> str:
        """Return it as a figure or table names it."""
        if self.name == "none":
            return self.name
        length = f" of {self.original_length:,} tokens" if self.name in _WITH_LENGTH else ""
        return f"{self.name} x {self.factor:.15g}{length}"


NO_SCALING = Scaling()


def add_scaling_options(parser: ArgumentParser) -> None:
    """Add `--rope-scaling`, `--rope-scaling-factor` and `--rope-original-length`."""
    add = parser.add_argument
    add("--rope-scaling", metavar="T", help=f"slower rotation for longer inputs: {', '.join(_SCHEDULES)}, {_PAIR}")
    add("--rope-scaling-factor", metavar="S", help=f"how much longer inputs may be, at least 1, {_PAIR}")
    add("--rope-original-length", metavar="L", help=f"tokens of the longest input of the training, {_PAIR}")


def set_scaling_defaults(args: Namespace) -> None:
    """Set no scaling where none is asked for."""
    args.rope_scaling = safe_getattr(args, "rope_scaling", "none")
    args.rope_scaling_factor = safe_getattr(args, "rope_scaling_factor", None)
    args.rope_original_length = safe_getattr(args, "rope_original_length", None)


def check_one_stack(args: Namespace, *, model: str, missing: str) -> None:
    """Check that a model of one stack has one value of each option.

    Raises:
        ValueError: one is a pair; the text names it.
    """
    for option in ("rope_scaling", "rope_scaling_factor", "rope_original_length"):
        value = getattr(args, option)
        if "," in str(value):
            raise ValueError(
                f"--{option.replace('_', '-')} must be one value with {model}, which has no {missing}, but is {value!r}"
            )


def stack_scaling(cfg: Any, *, side: str) -> Scaling:
    """Return the scaling of the encoder or decoder, `side`, from the model's configuration.

    Raises:
        ValueError: an option breaks its rule, is missing or has no use; the text names it.
    """
    names = _pair("--rope-scaling", cfg.rope_scaling, _name, f"must be one of {', '.join(_SCHEDULES)}")
    factors = _pair("--rope-scaling-factor", cfg.rope_scaling_factor, _factor, "must be finite and at least 1")
    lengths = _pair("--rope-original-length", cfg.rope_original_length, _length, f"must be in 1 .. {_MAX_LENGTH}")
    for option, values, users in (
        ("--rope-scaling-factor", factors, [name for name in _SCHEDULES if name != "none"]),
        ("--rope-original-length", lengths, _WITH_LENGTH),
    ):
        needs = [name for name in names if name in users]
        if needs and values is None:
            raise ValueError(f"--rope-scaling {needs[0]} needs {option}")
        if values and not needs:
            raise ValueError(f"{option} needs --rope-scaling {', '.join(users)}, but it is {cfg.rope_scaling}")
    number = _SIDES.index(side)
    return Scaling(
        names[number],
        factors[number] if factors else NO_SCALING.factor,
        lengths[number] if lengths else NO_SCALING.original_length,
    )


def scaled_schedule(scaling: Scaling, *, base: float, rotary_dim: int) -> FrequencySchedule:
    """Return the schedule of a base and a scaling.

    Raises:
        ValueError: the scaling's formula has no value at this base or rotary size.
    """
    if scaling.name == "ntk" and rotary_dim < 4:
        raise ValueError(f"--rope-scaling ntk needs a rotary size of at least 4, but it is {rotary_dim}")
    if scaling.name == "yarn" and base <= 1:
        raise ValueError(f"--rope-scaling yarn needs a --rope-base above 1, but it is {base}")
    options: dict[str, float] = {"base": base}
    if scaling.name != "none":
        options["factor"] = scaling.factor
    if scaling.name in _WITH_LENGTH:
        options["original_length"] = scaling.original_length
    return functools.partial(_SCHEDULES[scaling.name], **options)


def _pair(option: str, value: Any, read: Callable[[str], Any], rule: str) -> Any:
    """Return what `read` makes of the encoder's and the decoder's value; None where there is no value."""
    if value is None:
        return None
    texts = [text.strip() for text in str(value).split(",")]
    values = [read(text) for text in texts]
    if None in values or len(values) > 2:
        raise ValueError(f"{option} {rule}, {_PAIR}, but is {value!r}")
    return values[0], values[-1]


def _name(text: str) -> str | None:
    if text == "dynamic":
        raise ValueError(
            "--rope-scaling dynamic is not supported: its frequencies depend on the longest sentence of a batch, which "
            "contradicts keys that are cached rotated; use ntk with the --rope-scaling-factor of your longest inputs"
        )
    return text if text in _SCHEDULES else None


def _factor(text: str) -> float | None:
    try:
        factor = float(text)
    except ValueError:
        return None
    return factor if 1 <= factor < math.inf else None


def _length(text: str) -> int | None:
    try:
        length = int(text)
    except ValueError:
        return None
    return length if 1 <= length <= _MAX_LENGTH else None
