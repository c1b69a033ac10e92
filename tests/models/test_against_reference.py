"""The whole model against the float64 reference: full pass and stepwise, any padding, after a reorder, far out."""

import pytest
import torch
from fairseq.data.data_utils import collate_tokens
from torch import Tensor

from fairseq_rope.models._positions import POSITION_METHODS
from tests.reference import ReferenceTransformer
from tests.support.models import SMALL, build_model
from tests.support.near import LOGITS, near

EOS, PAD = 2, 1
VARIANTS = {
    "paper": {},
    "pre-norm": dict(encoder_normalize_before=True, decoder_normalize_before=True),
    "half layout": dict(rope_layout="half"),
    "half of each head": dict(rope_fraction=0.5, rope_base=500.0),
    **{name: dict(position_method=name) for name in POSITION_METHODS if name != "rope"},
    "xpos, half layout": dict(position_method="xpos", rope_layout="half", rope_fraction=0.5),
    "scaled": dict(rope_scaling="ntk", rope_scaling_factor="3"),
    "each stack scaled": dict(rope_scaling="yarn,linear", rope_scaling_factor="3,2", rope_original_length=20),
    "one stack scaled": dict(rope_scaling="none,llama3", rope_scaling_factor=2.5, rope_original_length="30"),
    "geglu": dict(ffn="geglu"),
    "swiglu, pre-norm": dict(ffn="swiglu", encoder_normalize_before=True, decoder_normalize_before=True),
}


def scaling(options: dict) -> dict:
    """The scaling of each stack; an option is one value for both or two."""
    names, factors, lengths = (
        [*str(options.get(f"rope_{name}", default)).split(",") * 2][:2]
        for name, default in (("scaling", "none"), ("scaling_factor", 1), ("original_length", 1))
    )
    each = [(name, float(factor), int(length)) for name, factor, length in zip(names, factors, lengths, strict=True)]
    return dict(zip(("encoder", "decoder"), each, strict=True))


def make_model(**options):
    model = build_model("transformer_rope", **SMALL, **options)
    for parameter in model.parameters():  # biases and norms start at 0 and 1, which would hide mistakes
        torch.nn.init.normal_(parameter, std=0.35)
    reference = ReferenceTransformer(
        dict(model.state_dict()),
        num_heads=SMALL["encoder_attention_heads"],
        base=options.get("rope_base", 10000.0),
        fraction=options.get("rope_fraction", 1.0),
        layout=options.get("rope_layout", "interleaved"),
        scaling=scaling(options),
        normalize_before=options.get("encoder_normalize_before", False),
        method=options.get("position_method", "rope"),
        ffn=options.get("ffn"),
    )
    return model, reference


def sentences(*lengths: int, seed: int = 5) -> list[Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return [torch.cat((torch.randint(4, 90, (n,), generator=generator), torch.tensor([EOS]))) for n in lengths]


def shifted(targets: list[Tensor]) -> list[Tensor]:
    return [target.roll(1) for target in targets]


def steps(model, encoder_out, inputs: Tensor, state: dict) -> Tensor:
    """Decode token by token and give the logits of all steps, (B, T, V)."""
    outputs = [
        model.decoder(inputs[:, : t + 1], encoder_out=encoder_out, incremental_state=state)[0]
        for t in range(inputs.size(1))
    ]
    return torch.cat(outputs, dim=1)


@pytest.mark.parametrize("options", VARIANTS.values(), ids=VARIANTS.keys())
@pytest.mark.parametrize("left_pad", [False, True], ids=["right padding", "left padding"])
@torch.no_grad()
def test_padded_batch_equals_the_reference_sentence_by_sentence(options, left_pad):
    model, reference = make_model(**options)
    sources, targets = sentences(9, 4, 13), shifted(sentences(6, 11, 8, seed=6))
    source = collate_tokens(sources, PAD, left_pad=left_pad)
    inputs = collate_tokens(targets, PAD, left_pad=left_pad)
    logits = model(source, torch.tensor([len(s) for s in sources]), inputs)[0]
    for row, (src, tgt) in enumerate(zip(sources, targets, strict=True)):
        expected = reference.logits(src.tolist(), tgt.tolist())
        actual = logits[row, -len(tgt) :] if left_pad else logits[row, : len(tgt)]
        near(actual, expected, LOGITS["reference"])


@pytest.mark.parametrize("options", VARIANTS.values(), ids=VARIANTS.keys())
@torch.no_grad()
def test_stepwise_equals_the_full_pass_and_the_reference(options):
    model, reference = make_model(**options)
    sources, targets = sentences(9, 4), shifted(sentences(10, 10, seed=7))
    source, inputs = collate_tokens(sources, PAD), torch.stack(targets)
    encoder_out = model.encoder(source, src_lengths=None)
    stepwise = steps(model, encoder_out, inputs, {})
    near(stepwise, model.decoder(inputs, encoder_out=encoder_out)[0], LOGITS["stepwise"])
    for row in range(2):
        expected = reference.logits(sources[row].tolist(), targets[row].tolist())
        near(stepwise[row], expected, LOGITS["reference"])


@torch.no_grad()
def test_beam_reorder_in_the_middle_continues_each_hypothesis():
    model, reference = make_model()
    (source,) = sentences(7)
    first, second, third = shifted(sentences(9, 9, 9, seed=8))
    encoder_out = model.encoder(source.expand(3, -1), src_lengths=None)
    state: dict = {}
    steps(model, encoder_out, torch.stack((first[:4], second[:4], third[:4])), state)
    order = torch.tensor([2, 0, 0])
    model.decoder.reorder_incremental_state_scripting(state, order)
    ends = torch.stack((torch.cat((third[:4], first[4:])), torch.cat((first[:4], second[4:])), first))
    for t in range(4, 9):
        logits = model.decoder(ends[:, : t + 1], encoder_out=encoder_out, incremental_state=state)[0]
        for row in range(3):
            expected = reference.logits(source.tolist(), ends[row, : t + 1].tolist())[-1]
            near(logits[row, -1], expected, LOGITS["reference"])


@torch.no_grad()
def test_1500_positions_full_and_stepwise():
    model, reference = make_model(max_source_positions=2000, max_target_positions=2000)
    (source,), (target,) = sentences(1500), shifted(sentences(1500, seed=9))
    expected = reference.logits(source.tolist(), target.tolist())
    encoder_out = model.encoder(source[None], src_lengths=None)
    full = model.decoder(target[None], encoder_out=encoder_out)[0][0]
    stepwise = steps(model, encoder_out, target[None], {})[0]
    near(full, expected, LOGITS["reference"])
    near(stepwise, expected, LOGITS["reference"])
    near(stepwise, full, LOGITS["stepwise"])


@pytest.mark.parametrize("left_pad", [False, True], ids=["right padding", "left padding"])
@torch.no_grad()
def test_the_content_of_padding_cannot_matter(left_pad):
    model, _ = make_model()
    sources, targets = sentences(9, 4), shifted(sentences(6, 11, seed=6))
    source = collate_tokens(sources, PAD, left_pad=left_pad)
    inputs = collate_tokens(targets, PAD, left_pad=left_pad)
    before = model(source, None, inputs)[0][inputs.ne(PAD)]
    model.encoder.embed_tokens.weight[PAD] = 37.0
    # the output row of <pad> is the embedding itself; all other words must stay
    words = torch.arange(before.size(-1)) != PAD
    after = model(source, None, inputs)[0][inputs.ne(PAD)]
    near(after[:, words], before[:, words], LOGITS["stepwise"])


@torch.no_grad()
def test_padding_within_a_target_is_hidden_whatever_stands_beside_it():
    model, _ = make_model()
    source, target = sentences(6)[0][None], torch.tensor([[EOS, 5, PAD, 7, 8, 9]])
    encoder_out, state = model.encoder(source), {}
    alone = model.decoder(target, encoder_out=encoder_out)[0][:, -1]
    stepwise = steps(model, encoder_out, target, state)[:, -1]
    beside = torch.cat((target, torch.tensor([[PAD, EOS, 5, 6, 7, 8]])))
    near(stepwise, alone, LOGITS["stepwise"])
    near(model.decoder(beside, encoder_out=model.encoder(source.expand(2, -1)))[0][:1, -1], alone, LOGITS["stepwise"])
