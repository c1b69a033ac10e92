"""Bits and right guesses of masked tokens, against a slow loop over blocks and tokens."""

import math

import numpy as np
import pytest
import torch

from fairseq_rope.scoring.block_losses import block_sums
from fairseq_rope.scoring.block_sums import BlockSums, accuracy, mean_bits
from fairseq_rope.scoring.masked_report import MaskedReport, masked_json, masked_text, sums_of
from fairseq_rope.scoring.masked_text import blocks, mask_text
from fairseq_rope.scoring.report_file import read_report
from fairseq_rope.scoring.resampling import resampled_sums
from fairseq_rope_data.errors import UserError
from tests.support.encoders import BOS, WORDS, encoder

TEXT = mask_text(
    torch.randint(2, WORDS, (83,), generator=torch.Generator().manual_seed(1)).numpy(), first_word=4, mask=WORDS
)


def slowly(model: torch.nn.Module, length: int) -> list[list[float]]:
    """Tokens, bits and right ones of each block, one token after the other, in float64."""
    model = model.double()
    found = []
    for inputs, targets, masks in blocks(TEXT, length=length, bos=BOS, max_tokens=1):
        sums = [0.0, 0.0, 0.0]
        logits = model(src_tokens=inputs)[0][0].detach()
        for row, target, is_masked in zip(logits, targets[0], masks[0], strict=True):
            if is_masked:
                best = max(range(len(row)), key=lambda word: float(row[word]))
                normalizer = math.log(sum(math.exp(float(logit)) for logit in row))
                own = [1, (normalizer - float(row[target])) / math.log(2), best == int(target)]
                sums = [one + other for one, other in zip(sums, own, strict=True)]
        found.append(sums)
    return found


@pytest.mark.parametrize("length", [9, 16, 40])
def test_sums_are_those_of_a_loop_over_tokens_whatever_the_batches(length: int):
    model = encoder(tokens_per_sample=16)
    each = [block_sums(model, blocks(TEXT, length=length, bos=BOS, max_tokens=size)) for size in (1, 100)]
    expected = slowly(model, length)
    for sums in each:
        assert sums.statistics().tolist() == [pytest.approx(row, abs=1e-3) for row in expected]
    assert sum(row[0] for row in expected) == TEXT.is_masked.sum() > 0


def test_a_diverged_model_is_named():
    model = encoder(tokens_per_sample=16)
    model.encoder.lm_head.bias.data.fill_(math.nan)
    with pytest.raises(UserError, match=r"^the loss is not finite: the training of this model has diverged$"):
        block_sums(model, blocks(TEXT, length=16, bos=BOS, max_tokens=64))


def test_the_report_is_read_as_it_was_written_and_its_scores_are_of_all_blocks(tmp_path):
    sums = BlockSums([3, 0, 5], [6.25, 0.0, 21.75], [1, 0, 1])
    report = MaskedReport("valid", 32, 16, "masks", sums, ["a note"])
    (tmp_path / "report").write_text(masked_json(report))
    found = read_report(tmp_path / "report")
    assert sums_of(found) == sums and (found["length"], found["trained_length"]) == (32, 16)
    assert {score["name"]: score["value"] for score in found["scores"]} == {
        "bits": 28 / 8,
        "accuracy": 100 * 2 / 8,
    }
    assert [score["lower_is_better"] for score in found["scores"]] == [True, False]
    whole = sums.statistics().sum(0)
    assert (mean_bits(whole), accuracy(whole)) == (3.5, 25)
    assert masked_text(report).splitlines() == [
        "valid in blocks of 32 tokens, trained on 16: 8 masked tokens in 3 blocks",
        *("bits = 3.500 (perplexity 11.31)", "accuracy = 25.00", "    masks", "note: a note"),
    ]


def test_a_text_without_masked_words_has_no_score():
    with pytest.raises(UserError, match=r"^--subset valid must have words that are masked, but none of its tokens is$"):
        MaskedReport("valid", 32, 16, "masks", BlockSums([0], [0.0], [0])).scores()


def test_a_model_that_is_sure_of_what_is_wrong_has_a_perplexity_beyond_all_numbers():
    text = masked_text(MaskedReport("valid", 32, 16, "masks", BlockSums([10], [20_000.0], [0])))
    assert "bits = 2000.000 (perplexity inf)" in text


def test_a_text_of_few_blocks_drawn_anew_without_a_masked_token_has_numbers():
    statistics = np.stack([BlockSums([10, 0], [bits, 0.0], [3, 0]).statistics() for bits in (20.0, 21.0)], axis=1)
    for score_of in (mean_bits, accuracy):
        found = resampled_sums("score", score_of, statistics, signature="masks")
        assert {*found.texts[0].samples} == {0, found.texts[0].score}


@pytest.mark.parametrize(
    ("blocks_text", "message"),
    [
        ('{"tokens": [1], "bits": [1.0]}', "no 'correct'"),
        (
            '{"tokens": [1], "bits": [1.0, 2], "correct": [1]}',
            "blocks must be tokens, bits and correct, as many of each",
        ),
        ('{"tokens": [1], "bits": [NaN], "correct": [1]}', "a number of blocks must be a score, but is nan"),
        ('{"tokens": [1], "bits": ["x"], "correct": [1]}', 'a number of blocks must not be "x"'),
        ("[]", r"blocks must not be \[\]"),
    ],
)
def test_a_damaged_report_is_named(tmp_path, blocks_text: str, message: str):
    (tmp_path / "report").write_text(f'{{"scores": [], "length": 1, "trained_length": 1, "blocks": {blocks_text}}}')
    with pytest.raises(UserError, match=message):
        read_report(tmp_path / "report")
