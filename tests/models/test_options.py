"""Options of `transformer`: those that go on working with rotation, and those that are refused by name."""

import pytest
import torch
from fairseq.criterions.adaptive_loss import AdaptiveLoss
from fairseq.criterions.label_smoothed_cross_entropy import LabelSmoothedCrossEntropyCriterion
from fairseq.modules import FairseqDropout
from fairseq.sequence_generator import SequenceGenerator
from torch import Tensor

from tests.support.near import GRADIENTS, LOGITS, SAME, near
from tests.support.small import PAD, PRE_NORM, ROPE_OPTIONS, TASK, logits, sample, small, stock, stock_keys

STOCK_OPTIONS = {  # options of `transformer` that go on working: what they set, beyond SMALL
    "post-norm": {},
    "pre-norm": PRE_NORM,
    "target embeddings shared": dict(share_all_embeddings=False, share_decoder_input_output_embed=True),
    "nothing shared": dict(share_all_embeddings=False),
    "layerdrop": dict(encoder_layerdrop=0.3, decoder_layerdrop=0.3),
    "quant-noise": dict(quant_noise_pq=0.3, quant_noise_pq_block_size=4),
    "adaptive softmax": dict(share_all_embeddings=False, adaptive_softmax_cutoff="20,50"),
    "checkpointed activations": dict(checkpoint_activations=True),
    "offloaded activations": dict(offload_activations=True),
    "no cross-attention": dict(no_cross_attention=True),
    "normalized embedding": dict(layernorm_embedding=True),
    "unequal stacks": dict(
        share_all_embeddings=False, decoder_embed_dim=32, decoder_ffn_embed_dim=20, decoder_attention_heads=2
    ),
    "gelu and all dropouts": dict(activation_fn="gelu", attention_dropout=0.1, activation_dropout=0.1),
    "gated": dict(ffn="geglu"),
    "gated, noise, dropouts, checkpoints": dict(
        ffn="swiglu",
        activation_dropout=0.1,
        encoder_layerdrop=0.3,
        quant_noise_pq=0.3,
        quant_noise_pq_block_size=8,
        checkpoint_activations=True,
    ),
    "a part of each head, halves": dict(rope_fraction=0.5, rope_layout="half", rope_base=500.0),
}
REFUSED = {
    "cross_self_attention": (True, "it mixes two sequences' positions in one attention"),
    "encoder_xformers_att_config": ("{'name': 'linformer'}", "xFormers' attention knows no position method"),
    "decoder_xformers_att_config": ("{'name': 'linformer'}", "xFormers' attention knows no position method"),
}
BAD_OPTIONS = {  # the rule of each option is tested with the rotation; here that it is checked when a model is built
    "base": (dict(rope_base=0.0), "--rope-base must be above 0 and finite, but is 0.0"),
    "fraction": (dict(rope_fraction=1.5), "--rope-fraction must be in (0, 1], but is 1.5"),
    "layout": (dict(rope_layout="x"), "--rope-layout must be one of interleaved, half, but is 'x'"),
    "heads": (
        dict(decoder_attention_heads=5),
        "--decoder-embed-dim must be a multiple of --decoder-attention-heads, but is 24 with 5",
    ),
    "no heads": (
        dict(encoder_attention_heads=0),
        "--encoder-embed-dim must be a multiple of --encoder-attention-heads, but is 24 with 0",
    ),
}


def gradients(model) -> dict[str, Tensor | None]:
    """Train one step with fairseq's criterion and give each parameter's gradient."""
    if model.decoder.adaptive_softmax is None:
        criterion = LabelSmoothedCrossEntropyCriterion(TASK, False, 0.1)
    else:
        criterion = AdaptiveLoss(TASK, False)
    torch.manual_seed(3)
    loss, *_ = criterion(model.train(), sample())
    assert loss.isfinite()
    loss.backward()
    model.eval()
    return {name: parameter.grad for name, parameter in model.named_parameters()}


@pytest.mark.parametrize("options", STOCK_OPTIONS.values(), ids=STOCK_OPTIONS)
def test_an_option_of_transformer_trains_decodes_and_keeps_the_keys(options):
    model = small(**options)
    assert set(model.state_dict()) == stock_keys(stock(**{k: v for k, v in options.items() if k not in ROPE_OPTIONS}))
    grads = gradients(model)
    unused = {
        "layerdrop": "",
        "no_cross_attention": "encoder.",
    }  # what gets no gradient: a dropped layer, an unread stack
    start = next((start for option, start in unused.items() if any(option in name for name in options)), None)
    assert not [name for name, grad in grads.items() if grad is None and (start is None or not name.startswith(start))]
    assert all(grad.isfinite().all() for grad in grads.values() if grad is not None)
    generator = SequenceGenerator([model], TASK.target_dictionary, beam_size=3, max_len_b=12)
    hypotheses = generator.generate([model], sample())
    assert [len(beam) for beam in hypotheses] == [3, 3, 3]
    assert all(hypothesis["score"].isfinite() for beam in hypotheses for hypothesis in beam)


@pytest.mark.parametrize("options", [dict(checkpoint_activations=True), dict(offload_activations=True)], ids=str)
def test_checkpointed_layers_run_again_and_change_no_gradient(options):
    plain, checkpointed, calls = small(dropout=0.0), small(dropout=0.0, **options), []
    for stack in (checkpointed.encoder, checkpointed.decoder):
        stack.layers[0].self_attn.register_forward_hook(lambda *_: calls.append(1))
    expected, actual = gradients(plain), gradients(checkpointed)
    assert len(calls) == 4
    assert set(actual) == set(expected)
    for name, grad in actual.items():
        near(grad, expected[name], GRADIENTS["model"])


@pytest.mark.parametrize(
    "options", [dict(attention_dropout=0.5), dict(quant_noise_pq=0.5, quant_noise_pq_block_size=4)]
)
def test_noise_reaches_rotary_attention_in_training_only(options):
    model, x = small(dropout=0.0, **options), torch.randn(7, 2, 24)
    for attention in (model.encoder.layers[0].self_attn, model.decoder.layers[0].self_attn):
        for training in (True, False):
            first, second = (attention.train(training)(x, x, x)[0] for _ in range(2))
            assert torch.equal(first, second) is not training


@pytest.mark.parametrize("option", REFUSED)
def test_an_option_that_cannot_go_with_rotation_is_refused_by_name(option):
    value, reason = REFUSED[option]
    with pytest.raises(ValueError) as error:
        small(**{option: value})
    assert str(error.value) == f"--{option.replace('_', '-')} cannot be used with transformer_rope: {reason}"


@pytest.mark.parametrize(("options", "message"), BAD_OPTIONS.values(), ids=BAD_OPTIONS)
def test_a_bad_option_stops_the_build(options, message):
    with pytest.raises(ValueError) as error:
        small(**options)
    assert str(error.value) == message


@pytest.mark.parametrize(
    "option",
    [
        *("dropout", "attention_dropout", "activation_dropout", "relu_dropout", "adaptive_softmax_dropout"),
        *("encoder_layerdrop", "decoder_layerdrop", "quant_noise_pq", "quant_noise_scalar"),
    ],
)
@pytest.mark.parametrize("value", [-0.1, 1.5, 30, float("nan")])
def test_a_probability_outside_0_to_1_is_refused_by_name(option, value):
    with pytest.raises(ValueError) as error:
        small(**{option: value})
    assert str(error.value) == f"--{option.replace('_', '-')} must be in [0, 1], but is {value}"


@pytest.mark.parametrize("option", ["max_source_positions", "max_target_positions"])
@pytest.mark.parametrize("value", [1, 0, -4, "long", 2.5, 2**31])
def test_a_limit_without_room_for_a_word_is_refused_by_name(option, value):
    with pytest.raises(ValueError) as error:
        small(**{option: value})
    rule = "must be a whole number of at least 2, a word and </s>, and below 2^31"
    assert str(error.value) == f"--{option.replace('_', '-')} {rule}, but is {value!r}"


@pytest.mark.parametrize("option", ["dropout", "attention_dropout", "activation_dropout"])
@pytest.mark.parametrize("value", [0.0, 5e-6, 1.0])
def test_a_dropout_of_next_to_nothing_changes_next_to_nothing_and_one_of_all_is_finite(option, value):
    options = {"dropout": 0.0, option: value}
    model = small(**options)
    with torch.no_grad():
        plain, dropped = logits(model), logits(model.train())
    assert dropped.isfinite().all() and torch.allclose(plain, dropped, atol=0.1) is (value < 1)


@pytest.mark.parametrize(
    "options", [dict(alignment_layer=0), dict(alignment_layer=1), dict(alignment_layer=1, alignment_heads=2)], ids=str
)
def test_attention_to_the_source_is_returned_on_request(options):
    batch = sample()
    assert small()(**batch["net_input"])[1]["attn"] == [None]
    attention = small()(**batch["net_input"], **options)[1]["attn"][0]
    source, target = batch["net_input"]["src_tokens"], batch["target"]
    assert attention.shape == (*target.shape, source.size(1))
    near(attention.sum(-1), torch.ones(target.shape), SAME[torch.float32])
    assert attention[source.eq(PAD)[:, None].expand_as(attention)].eq(0).all()


def test_left_and_right_padding_of_the_source_give_the_same():
    model = small()
    left, right = (model(**sample(left_pad)["net_input"])[0][sample()["target"].ne(PAD)] for left_pad in (True, False))
    near(left, right, LOGITS["same weights"])


def test_retain_dropout_modules_takes_the_names_of_the_stock_model():
    names = [
        {name: module.module_name for name, module in model.named_modules() if isinstance(module, FairseqDropout)}
        for model in (small(), stock())
    ]
    assert names[0] == names[1]
    assert set(names[0].values()) >= {"TransformerEncoder", "TransformerDecoder", "MultiheadAttention"}


def test_the_length_limits_are_the_users():
    assert small(max_source_positions=77, max_target_positions=88).max_positions() == (77, 88)
