"""Masks of a text: the same tokens at every length of blocks, words alone, and shares as in BERT."""

import numpy as np
import pytest
import torch

from fairseq_rope.scoring.masked_text import MaskedText, blocks, mask_text

FIRST, MASK, BOS = 4, 90, 0


def text(count: int = 20_000, **options) -> MaskedText:
    tokens = np.random.default_rng(3).integers(2, MASK, count)  # with </s> and <unk>
    return mask_text(tokens, first_word=FIRST, mask=MASK, **options)


@pytest.mark.parametrize(("length", "max_tokens"), [(2, 1), (5, 40), (9, 9), (64, 1000), (150, 1000)])
def test_blocks_of_any_length_have_the_same_tokens_to_predict(length: int, max_tokens: int):
    whole = text(99)
    batches = list(blocks(whole, length=length, bos=BOS, max_tokens=max_tokens))
    for batch in batches:
        assert len({part.shape for part in batch}) == 1 and batch[0].shape[1] <= length
        assert len(batch[0]) == 1 or batch[0].numel() <= max_tokens
        assert [part[:, 0].unique().tolist() for part in batch] == [[BOS], [BOS], [False]]
    rows = [torch.cat([part[:, 1:].flatten() for part in column]) for column in zip(*batches, strict=True)]
    for row, expected in zip(rows, (whole.inputs, whole.targets, whole.is_masked), strict=True):
        assert row.tolist() == expected.tolist()
    sizes = [len(row) for batch in batches for row in batch[0]]
    assert sizes[:-1] == [length] * (len(sizes) - 1)


def test_only_words_are_masked_and_all_else_stays():
    found = text()
    assert not found.is_masked[found.targets < FIRST].any()
    assert (found.inputs[~found.is_masked] == found.targets[~found.is_masked]).all()
    others = found.inputs[found.is_masked & (found.inputs != MASK)]
    assert others.min() >= FIRST and others.max() < MASK


@pytest.mark.parametrize("share", [0.15, 0.5, 1.0])
def test_shares_are_those_asked_for(share: float):
    found = text(share=share)
    words = found.targets >= FIRST
    inputs, targets = found.inputs[found.is_masked], found.targets[found.is_masked]
    assert found.is_masked[words].mean() == pytest.approx(share, abs=0.01)
    assert (inputs == MASK).mean() == pytest.approx(0.8, abs=0.03)
    # one of 86 other words is the same by chance
    assert (inputs == targets).mean() == pytest.approx(0.1 + 0.1 / 86, abs=0.03)
    assert found.signature == f"masked:{share:g}|mask:80%,other:10%,same:10%|mask-seed:1"


def test_a_seed_gives_the_same_masks_and_another_one_others():
    assert (text(seed=2).inputs == text(seed=2).inputs).all()
    assert (text(seed=2).is_masked != text(seed=3).is_masked).any()
