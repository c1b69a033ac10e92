"""`--position-method`: what each method's model has and lacks, and what is refused with it."""

import pytest
import torch

from fairseq_rope.models._positions import POSITION_METHODS
from fairseq_rope.modules.positions.rotary import RotaryEmbedding
from fairseq_rope.modules.positions.xpos import XPos
from tests.support.models import SMALL
from tests.support.small import PAD, logits, sample, small

WEIGHTS = {
    "t5": {f"{side}.position_weights.biases": (32, 3) for side in ("encoder", "decoder")},
    "shaw": {
        f"{side}.layers.{layer}.self_attn.position_weights.relative_{part}": (33, 8)
        for side in ("encoder", "decoder")
        for layer in range(SMALL[f"{side}_layers"])
        for part in ("keys", "values")
    },
    "learned": {f"{side}.embed_positions.weight": (1026, 24) for side in ("encoder", "decoder")},
}
REFUSED = {
    "unknown": (
        dict(position_method="rotary"),
        f"--position-method must be one of {', '.join(POSITION_METHODS)}, but is 'rotary'",
    ),
    "empty": (dict(position_method=""), f"--position-method must be one of {', '.join(POSITION_METHODS)}, but is ''"),
    "base": (dict(position_method="alibi", rope_base=500.0), "--rope-base cannot be used with --position-method alibi"),
    "layout": (
        dict(position_method="none", rope_layout="half"),
        "--rope-layout cannot be used with --position-method none",
    ),
    "restart": (
        dict(position_method="t5", rope_restart_after="w0"),
        "--rope-restart-after cannot be used with --position-method t5",
    ),
    "learned": (dict(encoder_learned_pos=True), "--encoder-learned-pos cannot be used with --position-method rope"),
    "learned on one side": (
        dict(position_method="sinusoidal", decoder_learned_pos=True),
        "--decoder-learned-pos cannot be used with --position-method sinusoidal",
    ),
    "no positions": (
        dict(position_method="sinusoidal", no_token_positional_embeddings=True),
        "--no-token-positional-embeddings cannot be used with --position-method sinusoidal",
    ),
}


@pytest.mark.parametrize(("options", "message"), REFUSED.values(), ids=REFUSED)
def test_an_option_that_is_not_the_methods_own_is_refused_by_name(options, message):
    with pytest.raises(ValueError) as error:
        small(**options)
    assert str(error.value) == message


@pytest.mark.parametrize("method", POSITION_METHODS)
def test_a_method_adds_its_own_weights_and_changes_no_other(method):
    model, rope = small(position_method=method), small()
    added = {name: tuple(x.shape) for name, x in model.named_parameters() if name not in dict(rope.named_parameters())}
    assert added == WEIGHTS.get(method, {})
    if method != "learned":  # whose table is drawn before the layers
        assert all(torch.equal(x, dict(model.named_parameters())[name]) for name, x in rope.named_parameters())


def test_xpos_is_the_decoders_alone():
    model = small(position_method="xpos")
    assert type(model.encoder.position_method) is RotaryEmbedding
    assert type(model.decoder.position_method) is XPos


@pytest.mark.parametrize("method", ["sinusoidal", "learned"])
@torch.no_grad()
def test_absolute_positions_are_those_of_stock_fairseq(method):
    positions = dict(encoder_learned_pos=True, decoder_learned_pos=True) if method == "learned" else {}
    twin = small("transformer", **positions)
    model = small(position_method=method)
    model.load_state_dict(twin.state_dict(), strict=True)
    torch.testing.assert_close(logits(model), logits(twin))


@pytest.mark.parametrize("method", [name for name in POSITION_METHODS if name not in ("sinusoidal", "learned")])
def test_absolute_positions_of_a_stock_checkpoint_are_dropped(method):
    state = small("transformer").state_dict()
    missing, unexpected = small(position_method=method).load_state_dict(state, strict=False)
    assert set(missing) == set(WEIGHTS.get(method, {})) and not unexpected


@torch.no_grad()
def test_without_positions_the_encoder_is_a_bag_of_words_and_with_any_method_it_is_not():
    source = sample()["net_input"]["src_tokens"][2:]
    order = torch.tensor([4, 2, 0, 1, 3, 5, 6, 7, 8, 9])
    for method in POSITION_METHODS:
        model = small(position_method=method)
        for name, weight in model.named_parameters():
            if "position_weights" in name:
                torch.nn.init.normal_(weight)
        first, second = (model.encoder(x)["encoder_out"][0] for x in (source, source[:, order]))
        same = torch.allclose(first[order], second, atol=1e-5)
        assert same is (method == "none"), method


@pytest.mark.parametrize("side", ["source", "target"])
def test_a_sentence_beyond_a_learned_table_is_named(side: str):
    model = small(position_method="learned", **{f"max_{side}_positions": 9})
    tokens = dict(source=torch.full((2, 4), 5), target=torch.full((2, 4), 5))
    tokens[side] = torch.cat((torch.full((2, 3), PAD), torch.full((2, 10), 5)), dim=1)
    with pytest.raises(ValueError) as error:
        model(tokens["source"], None, tokens["target"])
    assert str(error.value) == f"--max-{side}-positions 9: no more positions were learned, but a sentence has 10"
    tokens[side] = tokens[side][:, :-1]  # whatever stands beside it is padding
    assert model(tokens["source"], None, tokens["target"])[0].isfinite().all()
