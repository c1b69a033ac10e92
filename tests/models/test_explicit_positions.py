"""Positions that come with the batch, and those that start anew after a token."""

from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from fairseq.criterions.label_smoothed_cross_entropy import LabelSmoothedCrossEntropyCriterion
from fairseq.sequence_generator import SequenceGenerator
from torch import Tensor

from fairseq_rope.criterions.label_smoothed_cross_entropy_fused import FusedLabelSmoothedCrossEntropyCriterion
from fairseq_rope.modules.explicit_positions import sentence_positions
from tests.support.near import LOGITS, near
from tests.support.small import EOS, PAD, TASK, sample, small

SEPARATOR = 4  # w0
RESTART = dict(rope_restart_after="w0")


def with_positions(batch: dict, shift: float = 0.0) -> dict:
    """A batch whose tokens say that they stand side by side, from `shift` on."""
    inputs = batch["net_input"]
    positions = {
        name: torch.arange(inputs[tokens].size(1)).expand_as(inputs[tokens]) + shift
        for name, tokens in (("src_positions", "src_tokens"), ("tgt_positions", "prev_output_tokens"))
    }
    return {**batch, "net_input": {**inputs, **positions}}


def outputs(model, batch: dict) -> Tensor:
    return model(**batch["net_input"])[0][batch["target"].ne(PAD)]


@pytest.mark.parametrize("options", [{}, dict(checkpoint_activations=True), dict(position_method="xpos")], ids=str)
@pytest.mark.parametrize("shift", [0.0, 40.5])
@pytest.mark.parametrize(
    "criterion_class", [LabelSmoothedCrossEntropyCriterion, FusedLabelSmoothedCrossEntropyCriterion]
)
def test_positions_side_by_side_change_neither_logits_nor_gradients(options, shift, criterion_class):
    model = small(dropout=0.0, **options).train()
    criterion, found = criterion_class(TASK, False, 0.1), []
    for batch in (sample(), with_positions(sample(), shift)):
        model.zero_grad()
        criterion(model, batch)[0].backward()
        found.append([outputs(model, batch), *(x.grad.clone() for x in model.parameters())])
    for actual, expected in zip(found[1], found[0], strict=True):
        near(actual, expected, 10 * LOGITS["same weights"])


@torch.no_grad()
@pytest.mark.parametrize("side", ["src_positions", "tgt_positions"])
def test_other_positions_of_one_side_change_its_stack_and_do_not_stay(side):
    model, batch = small(), sample()
    before, inputs = outputs(model, batch), with_positions(batch)["net_input"]
    given = {**batch, "net_input": {**batch["net_input"], side: inputs[side] * 2}}
    assert (outputs(model, given) - before).abs().max() > 1e-3
    assert torch.equal(outputs(model, batch), before)


@torch.no_grad()
def test_threads_with_positions_of_their_own_may_share_a_model():
    model, given = small(), with_positions(sample())["net_input"]

    def stretched(stretch: int) -> Tensor:
        positions = {name: given[name] * stretch for name in ("src_positions", "tgt_positions")}
        return outputs(model, {**sample(), "net_input": {**given, **positions}})

    expected = [stretched(stretch) for stretch in range(8)]
    with ThreadPoolExecutor(8) as threads:
        for found, alone in zip(threads.map(stretched, list(range(8)) * 20), expected * 20, strict=True):
            near(found, alone, LOGITS["large weights"])


@torch.no_grad()
def test_given_positions_are_those_of_a_search_too():
    model, tokens = small(), torch.tensor([[EOS, 8, 9, 10, 11, 12]])
    positions = torch.tensor([[0.0, 1.0, 2.5, 0.0, 1.0, 1.0]])
    encoder_out, state, steps = model.encoder(sample()["net_input"]["src_tokens"][:1]), {}, []
    with model.decoder.at(positions):
        full = model.decoder(tokens, encoder_out=encoder_out)[0]
    for t in range(1, 7):
        with model.decoder.at(positions[:, :t]):
            steps.append(model.decoder(tokens[:, :t], encoder_out=encoder_out, incremental_state=state)[0])
    near(torch.cat(steps, dim=1), full, LOGITS["stepwise"])
    side_by_side = model.decoder(tokens, encoder_out=encoder_out)[0]
    assert (side_by_side - full).abs().max() > 1e-3


@torch.no_grad()
def test_a_search_takes_positions_of_the_source_and_refuses_those_of_the_target():
    model = small()
    generator = SequenceGenerator([model], TASK.target_dictionary, beam_size=2, max_len_b=8)

    def scores(**positions: Tensor) -> Tensor:
        batch = sample()
        batch["net_input"].update(positions)
        return torch.stack([hypotheses[0]["score"] for hypotheses in generator.generate([model], batch)])

    given = with_positions(sample())["net_input"]
    near(scores(src_positions=given["src_positions"] + 3), scores(), LOGITS["stepwise"])
    assert not torch.allclose(scores(src_positions=given["src_positions"] * 2), scores())
    with pytest.raises(ValueError, match=r"^tgt_positions cannot be used in a search, whose target is not known"):
        scores(tgt_positions=given["tgt_positions"])


@pytest.mark.parametrize("method", ["none", "sinusoidal", "alibi", "t5", "shaw"])
def test_a_method_that_does_not_rotate_refuses_positions(method):
    model = small(position_method=method)
    with pytest.raises(ValueError, match=r"^explicit positions are for methods that rotate, not for "):
        outputs(model, with_positions(sample()))


def test_positions_of_another_shape_are_refused():
    batch = with_positions(sample())
    batch["net_input"]["src_positions"] = batch["net_input"]["src_positions"][:, 1:]
    with pytest.raises(ValueError) as error:
        outputs(small(), batch)
    assert str(error.value) == "positions must be (3, 10), as the tokens, but are (3, 9)"


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_positions_that_were_rounded_are_refused(dtype):
    batch = with_positions(sample(), 0.5)
    batch["net_input"]["tgt_positions"] = batch["net_input"]["tgt_positions"].to(dtype)
    with pytest.raises(ValueError, match=rf"^positions must be whole numbers or float64, but are {dtype}: --fp16 and "):
        outputs(small(), batch)


def test_positions_start_anew_after_a_separator_whatever_the_padding():
    tokens = torch.tensor([[8, 9, 4, 8, 4, 4, 8, 9, EOS], [PAD, PAD, 8, 4, 9, 9, 9, 9, EOS]])
    expected = [[0, 1, 2, 0, 1, 0, 0, 1, 2], [0, 0, 0, 1, 0, 1, 2, 3, 4]]
    assert sentence_positions(tokens, restart_after=4, padding_idx=PAD).tolist() == expected
    right = torch.tensor([[8, 4, 9, 9, 9, 9, EOS, PAD, PAD]])
    assert sentence_positions(right, restart_after=4, padding_idx=PAD)[0, :7].tolist() == expected[1][2:]


@torch.no_grad()
def test_a_model_that_starts_anew_gives_the_same_full_stepwise_and_with_any_padding():
    model = small(**RESTART)
    batch, left = sample(left_pad=False), sample()
    for inputs in (batch["net_input"], left["net_input"]):
        source = inputs["src_tokens"]
        inputs["src_tokens"] = torch.where((source == source[:, -3:-2]) & source.gt(EOS), SEPARATOR, source)
        inputs["prev_output_tokens"][:, 2] = SEPARATOR
    tokens = batch["net_input"]["prev_output_tokens"]
    full = model(**batch["net_input"])[0]
    explicit = {
        name: sentence_positions(batch["net_input"][x], restart_after=SEPARATOR, padding_idx=PAD)
        for name, x in (("src_positions", "src_tokens"), ("tgt_positions", "prev_output_tokens"))
    }
    assert torch.equal(small()(**batch["net_input"], **explicit)[0], full)
    assert (small()(**batch["net_input"])[0] - full).abs().max() > 1e-3
    encoder_out, state = model.encoder(batch["net_input"]["src_tokens"]), {}
    steps = [
        model.decoder(tokens[:, : t + 1], encoder_out=encoder_out, incremental_state=state)[0]
        for t in range(tokens.size(1))
    ]
    real = tokens.ne(PAD)
    near(torch.cat(steps, dim=1)[real], full[real], LOGITS["stepwise"])


def test_a_separator_that_the_dictionary_lacks_is_refused():
    with pytest.raises(ValueError) as error:
        small(rope_restart_after="<sep>")
    assert str(error.value) == "--rope-restart-after must be a token of the dictionary, but is '<sep>'"
