"""Gradients through stepwise decoding, as in scheduled sampling and minimum risk training: those of a full pass."""

import pytest
import torch
from torch import Tensor

from tests.support.near import NO_GRADIENT, STEPWISE_GRADIENT
from tests.support.small import WORDS, sample, small

ORDER = torch.tensor([2, 0, 0])  # of hypotheses: one leaves, one goes on twice
AFTER = 3  # steps until the search has chosen so


def gradients(model, loss: Tensor) -> dict[str, Tensor]:
    model.zero_grad()
    loss.backward()
    return {name: x.grad.clone() for name, x in model.named_parameters()}


def encoded(model, beam: int) -> dict:
    inputs = sample()["net_input"]
    model.set_beam_size(beam)
    encoder_out = model.encoder(inputs["src_tokens"], src_lengths=inputs["src_lengths"])
    return model.encoder.reorder_encoder_out(encoder_out, torch.arange(3).repeat_interleave(beam))


def steps(model, encoder_out: dict, tokens: Tensor, order: Tensor, no_grad: tuple[int, ...] = ()) -> Tensor:
    """Return the logits of all steps, (T, B, V), with hypotheses reordered after some of them."""
    state: dict = {}
    found = []
    for t in range(tokens.size(1)):
        if t == AFTER:
            model.decoder.reorder_incremental_state_scripting(state, order)
            encoder_out = model.encoder.reorder_encoder_out(encoder_out, order)
            tokens = tokens.index_select(0, order)
        with torch.set_grad_enabled(t not in no_grad):
            found.append(model.decoder(tokens[:, : t + 1], encoder_out=encoder_out, incremental_state=state)[0])
    return torch.cat(found, dim=1).transpose(0, 1)


def full(model, encoder_out: dict, tokens: Tensor, order: Tensor) -> Tensor:
    before = model.decoder(tokens, encoder_out=encoder_out)[0][:, :AFTER]
    encoder_out = model.encoder.reorder_encoder_out(encoder_out, order)
    after = model.decoder(tokens.index_select(0, order), encoder_out=encoder_out)[0][:, AFTER:]
    return torch.cat((before, after), dim=1).transpose(0, 1)


def compare(model, beam: int, order: Tensor) -> None:
    generator = torch.Generator().manual_seed(6)
    tokens = torch.randint(4, WORDS, (3 * beam, 6), generator=generator)
    weights = torch.randn(6, 3 * beam, WORDS, generator=generator, dtype=torch.float64)
    expected, actual = (
        gradients(model, (way(model, encoded(model, beam), tokens, order) * weights).sum()) for way in (full, steps)
    )
    for name, grad in expected.items():
        near = STEPWISE_GRADIENT * float(grad.abs().max()) + NO_GRADIENT
        torch.testing.assert_close(actual[name], grad, atol=near, rtol=0, msg=name)


@pytest.mark.parametrize("options", [{}, dict(rope_layout="half", rope_fraction=0.5)], ids=["paper", "halves"])
def test_it_is_that_of_a_full_pass_also_after_a_reorder(options):
    compare(small(dropout=0.0, share_all_embeddings=False, **options).double(), 1, ORDER)


def test_it_is_that_of_a_full_pass_where_a_sentence_is_kept_once_for_its_beam():
    compare(small(dropout=0.0).double(), 2, torch.tensor([1, 0, 2, 2, 5, 4]))


def test_what_was_decoded_without_a_gradient_is_a_constant_and_parameters_are_not():
    model = small(dropout=0.0).double()
    tokens = torch.randint(4, WORDS, (3, 5))
    with torch.no_grad():
        encoder_out = encoded(model, 1)
    outputs = steps(model, encoder_out, tokens, torch.arange(3), no_grad=(0, 1, 4))
    outputs[2:4].pow(2).sum().backward()
    attention = model.decoder.layers[0].self_attn
    assert all(proj.weight.grad.abs().max() > 0 for proj in (attention.q_proj, attention.k_proj, attention.v_proj))


def test_values_are_the_same_with_and_without_autograd():
    model = small(dropout=0.0).double()
    tokens = torch.randint(4, WORDS, (3, 6))
    results = []
    for off in ((), range(6), (1, 3)):
        with torch.no_grad():
            encoder_out = encoded(model, 1)
        results.append(steps(model, encoder_out, tokens, ORDER, no_grad=tuple(off)).detach())
    for other in results[1:]:
        torch.testing.assert_close(other, results[0])
