"""The encoder's archs, its options' errors, and tables that end: lengths, checkpoints of other tables."""

import sys
from argparse import Namespace

import pytest
import torch
from fairseq.models import ARCH_CONFIG_REGISTRY

from tests.support.encoders import EOS, encoder, padded
from tests.support.small import stock_keys

SIZES = {
    "roformer": (12, 768, 12, 3072),
    "roformer_base": (12, 768, 12, 3072),
    "roformer_small": (6, 384, 6, 1536),
    "roformer_tiny": (4, 256, 4, 1024),
}


@pytest.mark.parametrize(("arch", "sizes"), SIZES.items())
def test_an_arch_has_the_sizes_of_its_name_and_the_rest_of_roberta(arch: str, sizes: tuple[int, ...]):
    names = ("encoder_layers", "encoder_embed_dim", "encoder_attention_heads", "encoder_ffn_embed_dim")
    own = dict(zip(names, sizes, strict=True))
    args, stock = Namespace(), Namespace(**own)
    ARCH_CONFIG_REGISTRY[arch](args)
    ARCH_CONFIG_REGISTRY["roberta"](stock)
    kept = {name: value for name, value in vars(args).items() if name in vars(stock)}
    assert kept == {**vars(stock), "encoder_learned_pos": False, "no_token_positional_embeddings": True}


def test_parameters_are_those_of_roberta_without_positions():
    model, stock = encoder(), encoder("roberta", no_token_positional_embeddings=True)
    shapes = {name: parameter.shape for name, parameter in model.named_parameters()}
    assert shapes == {name: stock.get_parameter(name).shape for name in shapes}
    assert stock_keys(stock) <= stock_keys(model)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (dict(position_method="xpos"), "--position-method xpos cannot be used with roformer: its decay is for queries"),
        (dict(position_method="alibi"), "--position-method alibi cannot be used with roformer: in an encoder keys"),
        (dict(position_method="rotary"), "--position-method must be one of rope, xpos, none, sinusoidal, learned, "),
        (dict(encoder_learned_pos=True), "--encoder-learned-pos cannot be used with --position-method rope"),
        (dict(position_method="learned", rope_base=500.0), "--rope-base cannot be used with --position-method learned"),
        (dict(rope_fraction=1.5), "--rope-fraction must be in (0, 1], but is 1.5"),
        (
            dict(rope_scaling="linear,none", rope_scaling_factor="2"),
            "--rope-scaling must be one value with roformer, which has no decoder, but is 'linear,none'",
        ),
        (dict(encoder_attention_heads=5), "--encoder-embed-dim must be a multiple of --encoder-attention-heads, but"),
        (dict(ffn="glu"), "--ffn must be one of "),
        (
            dict(position_method="sinusoidal", sinusoid_scale=0.0),
            "--sinusoid-scale must be above 0 and finite, but is 0.0",
        ),
        (
            dict(position_method="sinusoidal", sinusoid_scale=float("inf")),
            "--sinusoid-scale must be above 0 and finite, but is inf",
        ),
        (dict(sinusoid_scale=0.02), "--sinusoid-scale cannot be used with --position-method rope"),
        (
            dict(position_method="learned", sinusoid_scale=0.02),
            "--sinusoid-scale cannot be used with --position-method learned",
        ),
        (dict(segments=-1), "--segments must be 0 or more, but is -1"),
        (dict(layer_norm_eps=0.0), "--layer-norm-eps must be above 0 and finite, but is 0.0"),
        (dict(dropout=30), "--dropout must be in [0, 1], but is 30"),
        (
            dict(position_method="learned", max_positions=16),
            "--tokens-per-sample must be at most the 16 of --max-positions with --position-method learned, but is 32",
        ),
        (dict(mask_whole_words=True), "--mask-whole-words does not work: fairseq's masked_lm looks for its options"),
    ],
)
def test_an_option_that_cannot_be_is_named(options: dict, message: str):
    with pytest.raises(ValueError) as error:
        encoder(**options)
    assert str(error.value).startswith(message)


def test_the_eps_of_every_norm_is_the_options():
    norms = [module for module in encoder(layer_norm_eps=1e-12).modules() if isinstance(module, torch.nn.LayerNorm)]
    assert len(norms) == 8 and {norm.eps for norm in norms} == {1e-12}


@pytest.mark.parametrize(("method", "limit"), [("rope", sys.maxsize), ("t5", sys.maxsize), ("learned", 32)])
def test_only_a_table_of_positions_limits_the_length(method: str, limit: int):
    model = encoder(position_method=method)
    assert model.max_positions() == limit
    longer = torch.cat((padded(), padded(), padded()), dim=1)
    if method == "learned":
        with pytest.raises(ValueError, match=r"^--max-positions 32: no more positions .* but a sentence has 39$"):
            model(longer)
    else:
        assert model(longer)[0].shape[:2] == longer.shape


def test_padding_beyond_the_table_is_no_longer_sentence():
    tokens = torch.nn.functional.pad(padded(), (0, 40), value=1)
    assert encoder(position_method="learned")(tokens)[0].isfinite().all()


@pytest.mark.parametrize(
    ("trained", "options", "message"),
    [
        (
            dict(position_method="learned"),
            dict(position_method="learned", tokens_per_sample=64),
            "--max-positions must be 32, as many as the checkpoint has, but is 64",
        ),
        ({}, dict(position_method="learned"), "--max-positions must be 0, as many as the checkpoint has, but is 32"),
        (dict(segments=2), {}, "--segments must be 2, as many as the checkpoint has, but is 0"),
        ({}, dict(segments=2), "--segments must be 0, as many as the checkpoint has, but is 2"),
    ],
)
def test_a_checkpoint_with_another_table_is_named(trained: dict, options: dict, message: str):
    with pytest.raises(ValueError) as error:
        encoder(**options).load_state_dict(encoder(**trained).state_dict(), strict=True)
    assert str(error.value) == message


def test_the_rotary_model_takes_roberta_without_its_positions(caplog: pytest.LogCaptureFixture):
    stock, model = encoder("roberta"), encoder(tokens_per_sample=64)
    model.load_state_dict(stock.state_dict(), strict=True)
    assert "learned positions of the checkpoint are dropped" in caplog.text
    name = "encoder.sentence_encoder.layers.1.fc1.weight"
    assert torch.equal(model.state_dict()[name], stock.state_dict()[name])


def test_heads_of_a_checkpoint_are_loaded_where_they_are_asked_for():
    trained = encoder()
    trained.register_classification_head("sentiment", num_classes=3)
    state = trained.state_dict()
    whole, bare = encoder(load_checkpoint_heads=True), encoder()
    whole.load_state_dict(dict(state), strict=True)
    bare.load_state_dict(dict(state), strict=True)
    tokens = padded()
    expected = trained.eval()(tokens, classification_head_name="sentiment")[0]
    assert expected.shape == (3, 3) and not bare.classification_heads
    assert torch.equal(whole.eval()(tokens, classification_head_name="sentiment")[0], expected)
    assert tokens[0, -1] != EOS  # the batch is padded
