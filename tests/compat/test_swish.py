"""Swish is a function of fairseq's, and what asks for it by name gets its values."""

import torch
from fairseq import utils

import fairseq_rope  # noqa: F401  applies the quirks
from tests.support.encoders import WORDS, encoder, padded
from tests.support.near import near


def test_swish_is_its_formula() -> None:
    x = torch.linspace(-8, 8, 65)
    near(utils.get_activation_fn("swish")(x), x * torch.sigmoid(x), 1e-6)


def test_a_gated_encoder_predicts_words() -> None:
    tokens = padded()
    logits = encoder(ffn="swiglu")(tokens)[0]
    assert logits.shape[:2] == tokens.shape and logits.shape[2] > WORDS and logits.isfinite().all()
