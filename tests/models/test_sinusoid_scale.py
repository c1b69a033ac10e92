"""--sinusoid-scale: the formula, the relation of sinusoids to tokens, and models without it, which stay fairseq's."""

import pytest
import torch
from fairseq.modules import SinusoidalPositionalEmbedding

from tests.reference_positions import absolute
from tests.support.encoders import PAD, encoder, make_mlm_task, padded
from tests.support.models import build_model
from tests.support.near import LOGITS, near

SCALED = dict(position_method="sinusoidal", sinusoid_scale=0.3)


@pytest.mark.parametrize("length", [32, 8], ids=["within the table", "beyond it"])
@torch.no_grad()
def test_a_token_gets_the_formulas_sinusoids_times_the_scale_and_padding_none(length: int):
    stack = encoder(**SCALED, layernorm_embedding=False, tokens_per_sample=length).encoder.sentence_encoder
    tokens = padded()
    embedded, embedding = stack.forward_embedding(tokens)
    for row, sentence in enumerate(tokens):
        for m, token in enumerate(sentence):
            expected = absolute(m, embedded.size(2), None, scale=0.3) if token != PAD else torch.zeros(embedded.size(2))
            near((embedded - embedding)[row, m].double(), expected.double(), LOGITS["same weights"])


@torch.no_grad()
def test_without_the_option_sinusoids_are_those_of_roberta_to_the_bit():
    ours, stock = encoder(position_method="sinusoidal"), encoder("roberta", encoder_learned_pos=False)
    assert type(ours.encoder.sentence_encoder.embed_positions) is SinusoidalPositionalEmbedding
    ours.load_state_dict(stock.state_dict(), strict=True)
    tokens = padded()
    embedded = [model.encoder.sentence_encoder.forward_embedding(tokens)[0] for model in (ours, stock)]
    assert torch.equal(*embedded)
    near(ours(tokens)[0][tokens.ne(PAD)], stock(tokens)[0][tokens.ne(PAD)], LOGITS["large weights"])


@torch.no_grad()
def test_the_norm_after_the_embeddings_sees_only_the_relation_of_sinusoids_to_tokens():
    options = dict(position_method="sinusoidal", layer_norm_eps=1e-12)
    one, other = encoder(**options), encoder(**options, sinusoid_scale=1 / 16)
    other.load_state_dict(one.state_dict(), strict=True)
    tokens = padded()
    features = one(tokens, features_only=True)[0]
    assert (other(tokens, features_only=True)[0] - features).abs().max() > 0.1
    other.encoder.sentence_encoder.embed_tokens.weight /= 16
    kept = tokens.ne(PAD)
    near(other(tokens, features_only=True)[0][kept], features[kept], LOGITS["large weights"])


@torch.no_grad()
def test_at_first_0_02_gives_the_relation_that_translation_has_and_the_weights_of_the_twins():
    sizes = dict(encoder_embed_dim=64, encoder_attention_heads=2, encoder_layers=1)
    fresh = {
        name: build_model("roformer_tiny", make_mlm_task(), tokens_per_sample=32, **sizes, **options)
        for name, options in (("rope", {}), ("scaled", dict(position_method="sinusoidal", sinusoid_scale=0.02)))
    }
    translation = build_model("transformer_rope", encoder_embed_dim=64, position_method="sinusoidal")
    shares = []
    for stack in (fresh["scaled"].encoder.sentence_encoder, translation.encoder):
        tokens = torch.arange(4, 24)[None]
        embedded = stack.embed_scale * stack.embed_tokens.weight[4:]
        shares.append((stack.embed_positions(tokens).square().mean() / embedded.square().mean()).sqrt().item())
    assert shares[0] == pytest.approx(0.71, rel=0.05) and shares[1] == pytest.approx(shares[0], rel=0.05)
    weights = {name: dict(model.named_parameters()) for name, model in fresh.items()}
    assert weights["rope"].keys() == weights["scaled"].keys()
    assert all(torch.equal(weights["rope"][name], weights["scaled"][name]) for name in weights["rope"])
