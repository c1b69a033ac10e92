"""`--no-repeat-ngram-size`: what a slow loop forbids, in any search on a CPU."""

import itertools
import re

import pytest
import torch
from fairseq.ngram_repeat_block import NGramRepeatBlock

import fairseq_rope  # noqa: F401  applies the quirks
from tests.support import ROOT
from tests.support.trained import Trained, call
from tests.support.translators import load

WORDS = 12


@pytest.mark.parametrize("size", [1, 2, 3, 4])
@pytest.mark.parametrize("step", [0, 1, 2, 3, 9])
def test_every_word_that_would_end_an_ngram_once_more_is_forbidden_and_no_other(size: int, step: int) -> None:
    generator = torch.Generator().manual_seed(step)
    beams, longest = 5, 20
    tokens = torch.full((beams, longest), 1)
    tokens[:, : step + 1] = torch.randint(4, 7, (beams, step + 1), generator=generator)
    tokens[:, 0] = 2
    actual = NGramRepeatBlock(size)(tokens, torch.zeros(beams, WORDS), 1, beams, step)
    for row, log_probs in zip(tokens[:, 1 : step + 1].tolist(), actual, strict=True):
        for word in range(WORDS):
            ngrams = [tuple([*row, word][i : i + size]) for i in range(len(row) + 2 - size)]
            repeats = len(row) + 1 >= size and ngrams[-1] in ngrams[:-1]
            assert log_probs[word].item() == (float("-inf") if repeats else 0)


def test_no_translation_repeats_an_ngram(trained: Trained) -> None:
    pairs = []
    for options in ([], ["--no-repeat-ngram-size", "2"]):
        translator, _ = load(trained, "--max-len-b", "40", *options)
        translator.codec.decode = lambda tokens, special_ids: " ".join(map(str, tokens))  # type: ignore[method-assign]
        found = [text.split()[:-1] for text in translator.translate(trained.lines[:40])]
        pairs.append(sum(len(words) - 1 - len(set(itertools.pairwise(words))) for words in found))
    assert pairs[0] > 0
    assert pairs[1] == 0


def test_a_given_beginning_may_repeat_words_and_what_follows_repeats_none(trained: Trained) -> None:
    given = 4
    options = f"--cpu --gen-subset valid --max-tokens 600 --prefix-size {given} --no-repeat-ngram-size 1".split()
    command = ("fairseq_cli.generate", str(trained.data), "--path", str(trained.checkpoint), *options)
    log = call(*command, "--user-dir", str(ROOT / "fairseq_rope")).stdout.decode()
    references, found = (dict(re.findall(rf"^{kind}-(\d+)\t(.*)$", log, re.MULTILINE)) for kind in "TD")
    repeated = 0
    for number, line in found.items():
        words, reference = line.split("\t")[1].split(), references[number].split()
        assert words[:given] == reference[:given]
        assert not set(words[given:]) & set(words[:given])
        assert len(set(words[given:])) == len(words[given:])
        repeated += len(set(reference[:given])) < len(reference[:given])
    assert repeated > 0
