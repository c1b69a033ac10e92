"""An exported model knows positions by the method that it was trained with, and scores and searches as fairseq does."""

from pathlib import Path

import ctranslate2
import pytest
import torch
from torch import nn

from tests.support.ctranslate2_runtime import (
    fairseq_scores,
    pair,
    runtime,
    runtime_scores,
    score_both,
    stirred,
)
from tests.support.near import SCORES, near
from tests.support.small import EOS, PAD, PRE_NORM, TASK, WORDS, sample, small

METHODS = ("none", "sinusoidal", "learned", "alibi", "t5", "shaw")
NORMS = {"post-norm": {}, "pre-norm": PRE_NORM}
# beyond Shaw's clip of 16, T5's buckets of one distance and its last one, from 128 on
LONG = (300, 270)


def positioned(method: str, **options) -> nn.Module:
    """A small model whose positions count as much as its words: weights of a method begin at 0."""
    model = stirred(position_method=method, **options)
    generator = torch.Generator().manual_seed(6)
    for name, parameter in model.named_parameters():
        if "position_weights" in name:
            nn.init.normal_(parameter.data, generator=generator)
    return model


def sentence(length: int, seed: int) -> torch.Tensor:
    words = torch.randint(4, WORDS, (length,), generator=torch.Generator().manual_seed(seed))
    return torch.cat((words, torch.tensor([EOS])))


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("method", METHODS)
def test_a_padded_batch_keeps_its_scores(method: str, norm: str, tmp_path: Path) -> None:
    near(*score_both(positioned(method, **NORMS[norm]), tmp_path / "model"), SCORES["runtime"])


@pytest.mark.parametrize("method", METHODS)
def test_a_long_sentence_keeps_its_scores(method: str, tmp_path: Path) -> None:
    model = positioned(method, max_source_positions=LONG[0] + 1, max_target_positions=LONG[1] + 1)
    batch = pair(sentence(LONG[0], seed=7), sentence(LONG[1], seed=8))
    scores = runtime_scores(runtime(model, tmp_path / "model"), TASK.target_dictionary, batch)
    near(scores, fairseq_scores(model, batch), SCORES["runtime"])


SEARCHES = {
    "beam": dict(beam_size=4, num_hypotheses=4),
    "sampling": dict(beam_size=1, sampling_topk=30, num_hypotheses=4),
}


@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize("method", METHODS)
def test_a_search_scores_its_hypotheses_as_fairseq(method: str, search: str, tmp_path: Path) -> None:
    """Step by step, as the runtime decodes: the score of a hypothesis is the mean of its tokens' log-probabilities."""
    model, words, sources = positioned(method), TASK.target_dictionary, [sentence(length, seed=9) for length in (9, 20)]
    translator = runtime(model, tmp_path / "model")
    ctranslate2.set_random_seed(3)
    results = translator.translate_batch(
        [[words[token] for token in source[:-1]] for source in sources],
        **SEARCHES[search],
        min_decoding_length=0,  # or the probability of an early </s> would be shared out
        max_decoding_length=60,
        return_scores=True,
        return_end_token=True,
    )
    assert max(len(hypothesis) for result in results for hypothesis in result.hypotheses) > 40
    for source, result in zip(sources, results, strict=True):
        for hypothesis, score in zip(result.hypotheses, result.scores, strict=True):
            tokens = torch.tensor([words.index(token) for token in hypothesis])
            assert PAD not in tokens
            end = torch.tensor([] if tokens[-1] == EOS else [EOS], dtype=torch.long)
            expected = fairseq_scores(model, pair(source, torch.cat((tokens, end))))[: len(tokens)]
            near(torch.tensor(score), expected.mean(), SCORES["runtime"])


def test_each_method_gives_other_scores() -> None:
    batch = sample()
    scores = torch.stack([fairseq_scores(positioned(method), batch) for method in ("rope", *METHODS)])
    distances = torch.cdist(scores, scores, p=torch.inf)
    assert distances.fill_diagonal_(1).min() > 100 * SCORES["runtime"]


def test_the_layers_of_a_stack_share_one_table_in_the_file(tmp_path: Path) -> None:
    growth = {}
    for method in ("none", "alibi"):
        sizes = []
        for layers in (1, 3):
            folder = tmp_path / f"{method}{layers}"
            runtime(small(position_method=method, encoder_layers=layers, decoder_layers=layers), folder)
            sizes.append((folder / "model.bin").stat().st_size)
        growth[method] = sizes[1] - sizes[0]
    # the encoder's has 4 x 1,024 rows of 3 heads
    assert growth["alibi"] - growth["none"] < 4 * 1024 * 3 * 4 / 10
