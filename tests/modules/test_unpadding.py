"""Unpadding: there and back, its gradients, and the batches that are worth it."""

import pytest
import torch

from fairseq_rope.modules.padding import Padding
from fairseq_rope.modules.unpadding import Unpadding, worthwhile_unpadding
from tests.support.encoders import PAD, encoder, padded, sentences


@pytest.mark.parametrize("left", [False, True])
def test_tokens_come_sentence_by_sentence_and_padding_comes_back_as_zeros(left: bool):
    padding = padded(left).eq(PAD)
    x = torch.randn(*padding.shape, 2, 5)
    unpadding = Unpadding(Padding(padding))
    assert torch.equal(unpadding.remove(x), x[~padding])
    assert torch.equal(unpadding.restore(x[~padding]), x.masked_fill(padding[..., None, None], 0))


def test_both_ways_have_the_gradients_of_indexing():
    padding = padded().eq(PAD)
    unpadding = Unpadding(Padding(padding))
    x = torch.randn(*padding.shape, 3, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(unpadding.remove, x)
    assert torch.autograd.gradcheck(unpadding.restore, x.detach()[~padding].requires_grad_())


def test_a_batch_with_little_padding_keeps_it():
    padding = torch.zeros(2, 20, dtype=torch.bool)
    padding[1, 17:] = True
    assert worthwhile_unpadding(Padding(padding)) is None
    padding[1, 16:] = True
    assert worthwhile_unpadding(Padding(padding)) is not None


@torch.no_grad()
def test_the_output_of_padding_is_zero_and_hidden_states_have_their_shape():
    model = encoder().encoder.sentence_encoder
    tokens = padded()
    found = model(tokens)["encoder_out"][0].transpose(0, 1)
    assert not found[tokens.eq(PAD)].any() and found[tokens.ne(PAD)].all(dim=-1).all()
    states = model(tokens, return_all_hiddens=True)["encoder_states"]
    assert {state.shape for state in states} == {(*reversed(tokens.shape), found.size(-1))}
    assert model(sentences(7)[0][None])["encoder_out"][0].shape[:2] == (7, 1)
