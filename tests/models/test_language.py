"""The language model: against Hugging Face's GPT-NeoX and fairseq's, stepwise, its sizes, options that cannot be."""

import importlib
import sys
from argparse import Namespace
from types import SimpleNamespace

import pytest
import torch
from fairseq.models import ARCH_CONFIG_REGISTRY
from torch import Tensor

from tests.support.encoders import PAD, WORDS, draw, padded, sentences
from tests.support.models import build_model, make_task
from tests.support.near import LOGITS, near

SMALL = dict(
    decoder_embed_dim=24,
    decoder_ffn_embed_dim=40,
    decoder_layers=3,
    decoder_attention_heads=3,
    share_decoder_input_output_embed=True,
    tokens_per_sample=32,
)
METHODS = ("rope", "xpos", "none", "sinusoidal", "learned", "alibi", "t5", "shaw")


def language_model(arch: str = "transformer_lm_rope", **options: object) -> torch.nn.Module:
    """A small model in evaluation mode, with weights that hide no mistake."""
    model = build_model(arch, make_task(WORDS - 4), **{**SMALL, **options})
    draw(model)
    return model


def stock(**options: object) -> torch.nn.Module:
    """fairseq's own; its arch `transformer_lm` has no function of defaults."""
    return language_model("transformer_lm_gpt", activation_fn="relu", attention_dropout=0.0, **options)


@pytest.fixture
def gpt_neox(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """Hugging Face's GPT-NeoX, without torchaudio, whose binary does not load beside every torch."""
    monkeypatch.setitem(sys.modules, "torchaudio", None)
    pytest.importorskip("transformers", reason="the oracle, Hugging Face transformers, is not installed")
    return importlib.import_module("transformers.models.gpt_neox.modeling_gpt_neox")


def weight_of_gpt_neox(name: str, state: dict[str, Tensor]) -> Tensor:
    """Return the weight of `state`, ours, that has this name there."""
    for theirs, ours in (
        ("gpt_neox.layers.", "decoder.layers."),
        ("gpt_neox.embed_in.", "decoder.embed_tokens."),
        ("gpt_neox.final_layer_norm.", "decoder.layer_norm."),
        ("lm_head.", "decoder.output_projection."),
        ("post_attention_layernorm", "final_layer_norm"),
        ("input_layernorm", "self_attn_layer_norm"),
        ("attention.dense", "self_attn.out_proj"),
        ("mlp.dense_h_to_4h", "fc1"),
        ("mlp.dense_4h_to_h", "fc2"),
    ):
        name = name.replace(theirs, ours)
    if "query_key_value" not in name:
        return state[name]
    heads = SMALL["decoder_attention_heads"]
    parts = [state[name.replace("attention.query_key_value", f"self_attn.{x}_proj")] for x in "qkv"]
    # of each head its queries, keys and values: three of (H * D, ...) -> (H * 3 * D, ...)
    return torch.stack([part.unflatten(0, (heads, -1)) for part in parts], dim=1).flatten(0, 2)


@torch.no_grad()
def test_logits_equal_hugging_face_gpt_neox(gpt_neox: SimpleNamespace):
    ours = language_model(rope_layout="half", rope_base=500.0, activation_fn="gelu", no_scale_embedding=True)
    config = gpt_neox.GPTNeoXConfig(
        **dict(vocab_size=WORDS, hidden_size=24, intermediate_size=40, num_hidden_layers=3, num_attention_heads=3),
        **dict(use_parallel_residual=False, layer_norm_eps=1e-5, hidden_act="gelu", pad_token_id=PAD),
        rope_parameters={"rope_type": "default", "rope_theta": 500.0, "partial_rotary_factor": 1.0},
    )
    theirs = gpt_neox.GPTNeoXForCausalLM(config).eval()
    state = ours.state_dict()
    theirs.load_state_dict({name: weight_of_gpt_neox(name, state) for name, _ in theirs.named_parameters()})
    tokens = torch.stack(sentences(17, 17))
    near(ours(tokens)[0], theirs(tokens).logits, LOGITS["large weights"])


@pytest.mark.parametrize("method", ["none", "sinusoidal", "learned"])
@torch.no_grad()
def test_logits_equal_fairseqs_with_the_positions_that_it_has(method: str):
    options = {
        "none": dict(no_token_positional_embeddings=True),
        "sinusoidal": {},
        "learned": dict(decoder_learned_pos=True),
    }
    theirs, ours = stock(**options[method]), language_model(position_method=method)
    assert ours.load_state_dict(theirs.state_dict(), strict=True)
    for left in (False, True):
        tokens = padded(left)
        near(ours(tokens)[0][tokens.ne(PAD)], theirs(tokens)[0][tokens.ne(PAD)], LOGITS["same weights"])


@pytest.mark.parametrize("method", METHODS)
@torch.no_grad()
def test_logits_step_by_step_are_those_of_the_whole_text(method: str):
    model = language_model(position_method=method)
    (tokens,) = sentences(12)
    whole, state = model(tokens[None])[0], {}
    steps = [model.decoder(tokens[None, : n + 1], incremental_state=state)[0] for n in range(12)]
    near(torch.cat(steps, dim=1), whole, LOGITS["stepwise"])


@torch.no_grad()
def test_layers_can_be_pruned_when_a_checkpoint_is_loaded():
    full, pruned = language_model(), language_model(decoder_layers_to_keep="0,2")
    kept = Namespace(arch="transformer_lm_rope", decoder_layers_to_keep="0,2")
    pruned.load_state_dict(full.state_dict(), strict=True, model_cfg=kept)
    del full.decoder.layers[1]
    full.decoder.num_layers = 2
    near(pruned(padded())[0], full(padded())[0], LOGITS["same weights"])


@torch.no_grad()
def test_rotation_knows_the_order_of_words_and_no_first_position():
    model = language_model()
    (tokens,) = sentences(12)
    swapped = tokens[[1, 0, *range(2, 12)]]
    assert (model(tokens[None])[0][0, -1] - model(swapped[None])[0][0, -1]).abs().max() > 0.01
    later = model(tokens[None], src_positions=torch.arange(100, 112)[None])[0]
    near(later, model(tokens[None])[0], LOGITS["other layout"])
    apart = model(tokens[None], src_positions=2 * torch.arange(12)[None])[0]
    assert (apart - later).abs().max() > 0.01


def test_the_arch_has_fairseqs_sizes():
    args, theirs = Namespace(), Namespace()
    ARCH_CONFIG_REGISTRY["transformer_lm_rope"](args)
    ARCH_CONFIG_REGISTRY["transformer_lm_gpt"](theirs)
    assert {name for name in vars(theirs) if name not in vars(args)} == set()
    sizes = {"decoder_layers": 6, "decoder_embed_dim": 512, "decoder_ffn_embed_dim": 2048, "decoder_attention_heads": 8}
    assert {name: getattr(args, name) for name in sizes} == sizes
    assert args.decoder_normalize_before and args.no_token_positional_embeddings


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            dict(rope_scaling="linear,none", rope_scaling_factor="2"),
            "--rope-scaling must be one value with transformer_lm_rope, which has no encoder, but is 'linear,none'",
        ),
        (dict(adaptive_input=True), "--adaptive-input cannot be used with transformer_lm_rope: it has plain"),
        (dict(character_embeddings=True), "--character-embeddings cannot be used with transformer_lm_rope: it has"),
        (dict(position_method="t5", rope_base=500.0), "--rope-base cannot be used with --position-method t5"),
        (dict(decoder_attention_heads=5), "--decoder-embed-dim must be a multiple of --decoder-attention-heads, but"),
    ],
)
def test_an_option_that_cannot_be_is_named(options: dict, message: str):
    with pytest.raises(ValueError) as error:
        language_model(**options)
    assert str(error.value).startswith(message)
