"""The option --ffn: stock's activations by name, gated layers of as many parameters, and what it refuses."""

from argparse import ArgumentParser, Namespace

import pytest
import torch
from fairseq import options as fairseq_options
from fairseq import utils
from fairseq.models import ARCH_CONFIG_REGISTRY, ARCH_MODEL_REGISTRY

from fairseq_rope import TransformerRopeModel
from tests.support.models import build_model, make_task
from tests.support.small import logits, small

ARCHS = sorted(name for name, model in ARCH_MODEL_REGISTRY.items() if issubclass(model, TransformerRopeModel))
STOCK = utils.get_available_activation_fns()
CHOICES = "relu, gelu, gelu_fast, gelu_accurate, tanh, linear, geglu, swiglu"
CONFLICT = "--activation-fn {} cannot be used with --ffn {}: its activation is {}"
REFUSED = {
    "unknown": (["--ffn", "glu"], f"--ffn must be one of {CHOICES}, but is 'glu'"),
    "no name": (["--ffn", ""], f"--ffn must be one of {CHOICES}, but is ''"),
    "another activation": (["--ffn", "geglu", "--activation-fn", "tanh"], CONFLICT.format("tanh", "geglu", "gelu")),
    "the default, given": (["--ffn", "swiglu", "--activation-fn", "relu"], CONFLICT.format("relu", "swiglu", "swish")),
    "two of stock's": (["--ffn", "gelu", "--activation-fn", "relu"], CONFLICT.format("relu", "gelu", "gelu")),
    "BASE layers": (
        ["--ffn", "geglu", "--base-layers", "1"],
        "--base-layers cannot be used with --ffn geglu: their experts are not gated",
    ),
}


def parsed(*words: str, arch: str = "transformer_rope_tiny") -> Namespace:
    """What a command line of fairseq-train says."""
    parser = fairseq_options.get_training_parser()
    return fairseq_options.parse_args_and_arch(parser, ["data", "--arch", arch, *words])


def size(model: torch.nn.Module) -> int:
    return sum(parameter.numel() for parameter in model.parameters())


@pytest.mark.parametrize("name", STOCK)
def test_an_activation_of_stocks_is_the_same_by_either_option(name: str):
    assert torch.equal(logits(small(ffn=name)), logits(small(activation_fn=name)))
    assert size(small(ffn=name)) == size(small())
    assert parsed("--ffn", name).activation_fn == parsed("--activation-fn", name).activation_fn == name


def test_without_the_option_nothing_is_chosen():
    args = parsed()
    assert (args.ffn, args.activation_fn) == (None, "relu")
    assert small(activation_fn="gelu").args.ffn is None


def test_the_activation_may_be_said_twice():
    assert parsed("--ffn", "gelu", "--activation-fn", "gelu").activation_fn == "gelu"
    assert TransformerRopeModel.build_model(parsed("--ffn", "geglu", "--activation-fn", "gelu"), make_task())


@pytest.mark.parametrize(("words", "message"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_is_refused_by_name(words: list[str], message: str):
    with pytest.raises(ValueError) as error:
        TransformerRopeModel.build_model(parsed(*words), make_task())
    assert str(error.value) == message


@pytest.mark.parametrize("arch", ARCHS)
def test_an_archs_parameters_are_as_many_to_a_hundredth(arch: str):
    with torch.device("meta"):
        plain, *gated = (build_model(arch, make_task(6), ffn=ffn) for ffn in (None, "geglu", "swiglu"))
    assert [size(model) for model in gated] == pytest.approx([size(plain)] * 2, rel=0.01)
    shapes = {name: parameter.shape for name, parameter in plain.named_parameters()}
    for model in gated:
        changed = {name for name, parameter in model.named_parameters() if parameter.shape != shapes[name]}
        assert {name.split(".", 3)[3] for name in changed} == {"fc1.weight", "fc1.bias", "fc2.weight"}


def test_a_checkpoint_from_before_the_option_loads_as_what_it_was():
    args = Namespace(arch="transformer_rope_tiny", activation_fn="gelu")
    ARCH_CONFIG_REGISTRY[args.arch](args)
    del args.ffn
    model = TransformerRopeModel.build_model(args, make_task())
    assert (model.args.ffn, model.encoder.layers[0].gate) == (None, None)


def test_the_help_names_every_value():
    parser = ArgumentParser()
    TransformerRopeModel.add_args(parser)
    (action,) = (action for action in parser._actions if "--ffn" in action.option_strings)
    assert CHOICES in action.help
