"""`transformer_rope` as a drop-in: archs and their twins, checkpoints of `transformer`, casts and layouts."""

import logging
from argparse import Namespace

import pytest
import torch
from fairseq.models import ARCH_CONFIG_REGISTRY
from fairseq.sequence_generator import SequenceGenerator
from torch import Tensor

from fairseq_rope.modules.cpu.thresholds import MIN_PADDING
from tests.support.models import build_model, make_task
from tests.support.near import GRADIENTS, HALF, LOGITS, SCORES, near
from tests.support.small import EOS, PRE_NORM, ROPE_OPTIONS, TASK, logits, sample, small, stock, stock_keys

TWINS = {f"transformer_rope{name}": f"transformer{name}" for name in (
    "", "_iwslt_de_en", "_wmt_en_de", "_vaswani_wmt_en_de_big", "_vaswani_wmt_en_fr_big", "_wmt_en_de_big",
    "_wmt_en_de_big_t2t")}  # fmt: skip
WU_ET_AL = dict(
    encoder_embed_dim=128,
    encoder_ffn_embed_dim=256,
    encoder_layers=4,
    encoder_attention_heads=4,
    decoder_embed_dim=128,
    decoder_ffn_embed_dim=256,
    decoder_layers=4,
    decoder_attention_heads=4,
    dropout=0.3,
    share_all_embeddings=True,
)


@pytest.mark.parametrize("is_padded", [True, False], ids=["padded", "equal lengths"])
def test_attention_to_the_source_has_a_mask_where_there_is_padding_only(is_padded: bool):
    model, batch = small().eval(), sample()["net_input"]
    source = batch["src_tokens"]
    source = source if is_padded else source.masked_fill(source == model.encoder.padding_idx, EOS)
    masks = []
    for layer in model.decoder.layers:
        layer.encoder_attn.register_forward_pre_hook(
            lambda _, args, kwargs: masks.append(kwargs["key_padding_mask"]), with_kwargs=True
        )
    model(**{**batch, "src_tokens": source})
    assert len(masks) == len(model.decoder.layers)
    assert all(mask is not None if is_padded else mask is None for mask in masks)


def test_layers_of_the_encoder_compute_no_padding_and_all_hidden_states_are_there_when_asked_for():
    model, batch = small(), sample()["net_input"]
    tokens = batch["src_tokens"].ne(model.encoder.padding_idx)
    assert tokens.float().mean() < 1 - MIN_PADDING
    shapes = []
    model.encoder.layers[0].fc1.register_forward_hook(lambda _, x, y: shapes.append(x[0].shape[:-1]))
    whole = {**batch, "return_all_hiddens": True}
    found = []
    for arguments in (batch, whole):
        model.zero_grad()
        logits, _ = model(**arguments)
        logits.logsumexp(dim=-1).sum().backward()
        found.append({"logits": logits, **{name: weight.grad for name, weight in model.named_parameters()}})
    assert shapes == [(int(tokens.sum()),), batch["src_tokens"].T.shape]
    for name, actual in found[0].items():
        near(actual, found[1][name], GRADIENTS["attention"])
    by_place = (batch["src_tokens"], batch["src_lengths"], batch["prev_output_tokens"])
    assert torch.equal(model(*by_place, True)[0], found[1]["logits"])


def arch_settings(arch: str) -> dict[str, object]:
    args = Namespace()
    ARCH_CONFIG_REGISTRY[arch](args)
    return vars(args)


@pytest.mark.parametrize(("ours", "twin"), TWINS.items(), ids=TWINS)
def test_an_arch_has_its_twins_sizes_and_parameters(ours, twin):
    actual, expected = arch_settings(ours), arch_settings(twin)
    rope = {name: actual.pop(name) for name in ROPE_OPTIONS}
    scaling = dict(rope_scaling="none", rope_scaling_factor=None, rope_original_length=None)
    rotation = dict(rope_base=10000.0, rope_fraction=1.0, rope_layout="interleaved", rope_restart_after=None)
    assert rope == dict(position_method="rope", **rotation, **scaling)
    assert actual.pop("ffn") is None
    assert actual == {**expected, "no_token_positional_embeddings": True}
    shapes = [
        {
            name: p.shape
            for name, p in build_model(arch, make_task(6), encoder_layers=1, decoder_layers=1).named_parameters()
        }
        for arch in (ours, twin)
    ]
    # what does not end so are the copies that fairseq 0.12.2 keeps for its fast path
    assert shapes[0] == {name: shape for name, shape in shapes[1].items() if name.endswith((".weight", ".bias"))}


def test_the_tiny_arch_is_wu_et_als():
    settings = arch_settings("transformer_rope_tiny")
    assert WU_ET_AL.items() <= settings.items()


def test_an_arch_keeps_what_the_user_sets():
    model = build_model("transformer_rope_tiny", encoder_layers=1, rope_layout="half", encoder_embed_dim=16)
    assert len(model.encoder.layers) == 1
    assert model.encoder.position_method.rotary_dim == 4


@pytest.mark.parametrize("options", [{}, PRE_NORM], ids=["post-norm", "pre-norm"])
def test_a_stock_checkpoint_with_sinusoids_loads_strictly(options):
    rope, plain = small(seed=5, **options), small("transformer", **options)
    rope.load_state_dict(plain.state_dict(), strict=True)
    for name, parameter in rope.named_parameters():
        assert torch.equal(parameter, plain.state_dict()[name])


def test_learned_positions_of_a_stock_checkpoint_are_dropped_with_a_warning(caplog):
    plain = small("transformer", encoder_learned_pos=True, decoder_learned_pos=True)
    with caplog.at_level(logging.WARNING):
        small().load_state_dict(plain.state_dict(), strict=True)
    for side in ("encoder", "decoder"):
        assert f"{side}.embed_positions.weight: learned positions of the checkpoint are dropped" in caplog.text


def with_fast_path_copies(state: dict[str, Tensor], num_layers: int) -> dict[str, Tensor]:
    """What fairseq 0.12.2 adds to a stock encoder's state_dict."""
    names = [f"{n}_{kind}" for n in ("in_proj", "out_proj", "fc1", "fc2") for kind in ("weight", "bias")]
    return {**state, **{f"encoder.layers.{i}.{n}": torch.zeros(2) for i in range(num_layers) for n in names}}


def test_a_stock_checkpoint_of_either_fairseq_loads_strictly():
    plain, rope = stock(), small(seed=5)
    state = {key: value for key, value in plain.state_dict().items() if key in stock_keys(plain)}
    rope.load_state_dict(with_fast_path_copies(state, 2), strict=True)
    near(logits(rope), logits(small()), LOGITS["same weights"])


@pytest.mark.parametrize("copies", [False, True], ids=["any fairseq", "stock of fairseq 0.12.2"])
def test_layers_can_be_pruned_when_a_checkpoint_is_loaded(copies):
    full = small(encoder_layers=3)
    state = with_fast_path_copies(full.state_dict(), 3) if copies else full.state_dict()
    args = Namespace(arch="transformer_rope", encoder_layers_to_keep="0,2", decoder_layers_to_keep="1")
    pruned = small(encoder_layers_to_keep="0,2", decoder_layers_to_keep="1", seed=5)
    pruned.load_state_dict(state, strict=True, model_cfg=args)
    del full.encoder.layers[1], full.decoder.layers[2], full.decoder.layers[0]
    full.decoder.num_layers = 1
    near(logits(pruned), logits(full), LOGITS["same weights"])


@pytest.mark.parametrize("options", [{}, PRE_NORM], ids=["post-norm", "pre-norm"])
@torch.no_grad()
def test_a_loaded_model_generates_as_the_model_in_training(options):
    # fairseq 0.12.2 has a fast path that skips self_attn in just this case: loaded, evaluating, without gradients
    model, fresh = small(dropout=0.0, **options), small(seed=5, **options)
    fresh.load_state_dict(model.state_dict(), strict=True)
    near(logits(fresh), logits(model.train()), LOGITS["same weights"])
    generator = SequenceGenerator([fresh], TASK.target_dictionary, beam_size=3, max_len_b=12)
    batch = sample()["net_input"]
    for row, beam in enumerate(generator.generate([fresh], dict(net_input=batch))):
        for hypothesis in beam:
            tokens = hypothesis["tokens"]
            forced = model(batch["src_tokens"][row, None], None, tokens.roll(1)[None])[0][0].log_softmax(-1)
            near(hypothesis["positional_scores"], forced.gather(1, tokens[:, None])[:, 0], SCORES["tokens"])
            assert tokens[-1] == EOS


@pytest.mark.parametrize("cast", ["half", "bfloat16"])
def test_a_cast_and_back_moves_the_outputs_by_rounding_only(cast):
    model = small()
    before = logits(model)
    theta = model.encoder.position_method.theta.clone()
    near(logits(getattr(model, cast)().float()), before, HALF)
    assert torch.equal(model.encoder.position_method.theta, theta)


def test_an_adaptive_softmax_with_shared_embeddings_loads_what_it_saved():
    model = small(adaptive_softmax_cutoff=[20, 50])
    other = small(adaptive_softmax_cutoff=[20, 50], seed=2)
    other.load_state_dict(model.state_dict(), strict=True)
    tokens = sample()["net_input"]
    assert torch.equal(other(**tokens)[0], model(**tokens)[0])


def test_an_interleaved_checkpoint_becomes_a_half_layout_one_by_permuting_rows():
    interleaved, half = small(), small(rope_layout="half", seed=5)
    state, head_dim = interleaved.state_dict(), 8
    order = torch.cat((torch.arange(0, head_dim, 2), torch.arange(1, head_dim, 2)))
    for name, value in state.items():
        if ".self_attn.q_proj." in name or ".self_attn.k_proj." in name:
            # (E, ...) -> (H, D, ...), permuted within each head
            state[name] = value.unflatten(0, (-1, head_dim))[:, order].flatten(0, 1)
    half.load_state_dict(state, strict=True)
    near(logits(half), logits(interleaved), LOGITS["other layout"])
