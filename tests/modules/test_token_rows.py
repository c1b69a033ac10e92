"""Rows of tokens: there and back, their gradients, and the batches whose padding is left out."""

import pytest
import torch
from torch import Tensor

from fairseq_rope.modules.padding import Padding
from fairseq_rope.modules.token_rows import TokenRows, token_rows
from tests.support.encoders import PAD, encoder, padded, sentences


def rows_of(padding: Tensor) -> TokenRows:
    rows = token_rows(padding, Padding(padding))
    assert rows is not None
    return rows


@pytest.mark.parametrize("left", [False, True])
def test_tokens_come_sentence_by_sentence_and_padding_comes_back_as_zeros(left: bool):
    padding = padded(left).eq(PAD)
    x = torch.randn(*padding.shape, 2, 5)
    rows = rows_of(padding)
    assert torch.equal(rows.take(x), x[~padding])
    assert torch.equal(rows.restore(x[~padding]), x.masked_fill(padding[..., None, None], 0))


def test_both_ways_have_the_gradients_of_indexing():
    padding = padded().eq(PAD)
    rows = rows_of(padding)
    x = torch.randn(*padding.shape, 3, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(rows.take, x)
    assert torch.autograd.gradcheck(rows.restore, x.detach()[~padding].requires_grad_())


def test_a_batch_with_little_padding_keeps_it_and_copies_nothing():
    padding = torch.zeros(2, 20, dtype=torch.bool)
    padding[1, 17:] = True
    rows, x = rows_of(padding), torch.randn(2, 20, 3)
    assert rows.take(x).shape == (40, 3)
    assert rows.restore(rows.take(x)).data_ptr() == x.data_ptr()
    assert torch.equal(rows.restore(rows.take(x)), x)
    padding[1, 16:] = True
    assert rows_of(padding).take(x).shape == (36, 3)


def test_padding_whose_output_is_asked_for_is_computed():
    padding, selected = padded().eq(PAD), torch.zeros_like(padded(), dtype=torch.bool)
    place = tuple(padding.nonzero()[0])
    selected[place] = True
    rows = token_rows(padding, Padding(padding), selected)
    assert torch.equal(rows.take(padding), padding[~padding | selected])


@torch.no_grad()
def test_the_output_of_padding_is_zero_and_hidden_states_have_their_shape():
    model = encoder().encoder.sentence_encoder
    tokens = padded()
    found = model(tokens)["encoder_out"][0].transpose(0, 1)
    assert not found[tokens.eq(PAD)].any() and found[tokens.ne(PAD)].all(dim=-1).all()
    states = model(tokens, return_all_hiddens=True)["encoder_states"]
    assert {state.shape for state in states} == {(*reversed(tokens.shape), found.size(-1))}
    assert model(sentences(7)[0][None])["encoder_out"][0].shape[:2] == (7, 1)
