"""The options of scaling: each stack's own, of any type, and one line for a bad one; nothing of it is a weight."""

from argparse import ArgumentParser

import pytest
import torch

from fairseq_rope import TransformerRopeModel
from tests.reference import scaled_frequencies
from tests.support.near import near
from tests.support.small import logits, small

RANGE = "must be in 1 .. 2147483647, or two as ENCODER,DECODER"
NAMES = "must be one of none, linear, ntk, yarn, llama3, or two as ENCODER,DECODER"
FACTOR = "must be finite and at least 1, or two as ENCODER,DECODER"
BOTH = {"linear": ("linear", 4.0, 1), "yarn": ("yarn", 4.0, 50), "none": ("none", 1.0, 1), "llama3": ("llama3", 2.0, 7)}
GOOD = {  # options -> what the encoder's and the decoder's are
    "text": (("linear", "4", None), "linear", "linear"),
    "int": (("linear", 4, None), "linear", "linear"),
    "float": (("linear", 4.0, None), "linear", "linear"),
    "a length as int": (("yarn", 4, 50), "yarn", "yarn"),
    "a length as text": (("yarn", "4", "50"), "yarn", "yarn"),
    "the encoder's": (("yarn,none", 4, 50), "yarn", "none"),
    "the decoder's": (("none,yarn", 4, "1000,50"), "none", "yarn"),
    "each its own, with spaces": (("yarn, llama3", "4, 2", "50, 7"), "yarn", "llama3"),
    "a length for one": (("linear,yarn", 4, 50), "linear", "yarn"),
}
BAD = {
    "unknown": (dict(scaling="su"), f"--rope-scaling {NAMES}, but is 'su'"),
    "one of two unknown": (dict(scaling="ntk,x", factor=2), f"--rope-scaling {NAMES}, but is 'ntk,x'"),
    "three": (dict(scaling="none,none,none"), f"--rope-scaling {NAMES}, but is 'none,none,none'"),
    "a number": (dict(scaling=4), f"--rope-scaling {NAMES}, but is 4"),
    "dynamic": (
        dict(scaling="none,dynamic", factor=2),
        "--rope-scaling dynamic is not supported: its frequencies depend on the longest sentence of a batch, which "
        "contradicts keys that are cached rotated; use ntk with the --rope-scaling-factor of your longest inputs",
    ),
    "factor below 1": (dict(scaling="ntk", factor="0.5"), f"--rope-scaling-factor {FACTOR}, but is '0.5'"),
    "factor nan": (dict(scaling="ntk", factor=float("nan")), f"--rope-scaling-factor {FACTOR}, but is nan"),
    "factor inf": (dict(scaling="ntk", factor="2,inf"), f"--rope-scaling-factor {FACTOR}, but is '2,inf'"),
    "no number": (dict(scaling="ntk", factor="four"), f"--rope-scaling-factor {FACTOR}, but is 'four'"),
    "a list": (dict(scaling="ntk", factor=[2, 4]), f"--rope-scaling-factor {FACTOR}, but is [2, 4]"),
    "factor empty": (dict(scaling="ntk", factor="2,"), f"--rope-scaling-factor {FACTOR}, but is '2,'"),
    "no factor": (dict(scaling="none,linear"), "--rope-scaling linear needs --rope-scaling-factor"),
    "factor alone": (
        dict(factor=2.0),
        "--rope-scaling-factor needs --rope-scaling linear, ntk, yarn, llama3, but it is none",
    ),
    "no length": (dict(scaling="yarn,linear", factor=2), "--rope-scaling yarn needs --rope-original-length"),
    "length 0": (dict(scaling="yarn", factor=2, length=0), f"--rope-original-length {RANGE}, but is 0"),
    "half a token": (dict(scaling="yarn", factor=2, length=50.5), f"--rope-original-length {RANGE}, but is 50.5"),
    "length too large": (
        dict(scaling="yarn", factor=2, length=2**31),
        f"--rope-original-length {RANGE}, but is 2147483648",
    ),
    "length of no use": (
        dict(scaling="linear,ntk", factor=2, length=50),
        "--rope-original-length needs --rope-scaling yarn, llama3, but it is linear,ntk",
    ),
    "length alone": (dict(length=50), "--rope-original-length needs --rope-scaling yarn, llama3, but it is none"),
}


def given(scaling: object = None, factor: object = None, length: object = None) -> dict[str, object]:
    values = dict(rope_scaling=scaling, rope_scaling_factor=factor, rope_original_length=length)
    return {name: value for name, value in values.items() if value is not None}


@pytest.mark.parametrize(("values", "encoder", "decoder"), GOOD.values(), ids=GOOD)
def test_each_stack_rotates_by_its_own_schedule(values, encoder, decoder):
    model = small(**given(*values))
    for stack, expected in ((model.encoder, encoder), (model.decoder, decoder)):
        name, factor, length = BOTH[expected]
        theta, magnitude = scaled_frequencies(name, 8, base=10000.0, factor=factor, length=length)
        near(stack.position_method.theta, torch.tensor(theta, dtype=torch.float64), 1e-12)
        assert stack.position_method.magnitude == pytest.approx(magnitude, abs=1e-12)


@pytest.mark.parametrize(("values", "message"), BAD.values(), ids=BAD)
def test_a_bad_value_is_named_with_its_rule(values, message):
    with pytest.raises(ValueError) as error:
        small(**given(**values))
    assert str(error.value) == message


def test_the_command_line_leaves_the_options_as_they_are_written():
    parser = ArgumentParser(argument_default=None)
    TransformerRopeModel.add_args(parser)
    words = ["--rope-scaling", "yarn,none", "--rope-scaling-factor", "4", "--rope-original-length", "128,100"]
    args = parser.parse_args(words)
    assert (args.rope_scaling, args.rope_scaling_factor, args.rope_original_length) == ("yarn,none", "4", "128,100")


@pytest.mark.parametrize("scaling", ["linear", "ntk", "yarn"])
def test_a_factor_of_one_gives_the_same_scores(scaling):
    length = 50 if scaling == "yarn" else None
    assert torch.equal(logits(small(**given(scaling, 1, length))), logits(small()))


def test_nothing_of_it_is_a_weight_and_weights_load_with_and_without_it():
    scaled, plain = small(**given("yarn", 4, 50)), small()
    assert set(scaled.state_dict()) == set(plain.state_dict())
    scaled.load_state_dict(plain.state_dict(), strict=True)
    assert (logits(scaled) - logits(plain)).abs().max() > 1e-3
