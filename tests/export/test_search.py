"""Both engines find the same translations with the same scores."""

from pathlib import Path

import pytest

from fairseq_rope.inference.engine import Hypothesis
from fairseq_rope.inference.translator import Translator
from tests.support.near import SCORES
from tests.support.trained import Trained

# Share of translations that are the same on every processor. Beyond rounding, the runtime shares out the probability
# of a <pad> or an early </s>, to which this hardly trained model gives a thousandth.
SAME_TEXT = 0.98


def translate_all(trained: Trained, *options: str) -> list[Hypothesis]:
    translator = Translator.from_args([*trained.options(), *options])
    sources = [translator.codec.encode(line, max_tokens=100).tokens for line in trained.lines]
    found = dict(translator.engine.translate(sources))
    return [found[index] for index in range(len(sources))]


def both(trained: Trained, exported: Path, *options: str) -> tuple[list[Hypothesis], list[Hypothesis]]:
    runtime = ("--engine", "ctranslate2", "--path", str(exported), "--intra-threads", "1")
    return translate_all(trained, *options), translate_all(trained, *options, *runtime)


def tolerance(hypothesis: Hypothesis, length_penalty: float) -> float:
    """Return what a score may be off by: a sum over tokens, divided by their number to the power of --lenpen."""
    length = len(hypothesis.tokens)
    return SCORES["runtime's search"] * length / length**length_penalty


@pytest.mark.parametrize(
    ("length_penalty", "options"),
    [
        (1.0, ("--beam", "1")),
        (0.6, ("--beam", "4", "--lenpen", "0.6")),
        (0.0, ("--beam", "4", "--lenpen", "0")),
        (2.5, ("--beam", "3", "--lenpen", "2.5")),
        (0.0, ("--beam", "5", "--unnormalized")),
        (1.0, ("--beam", "2", "--batch-size", "7")),
    ],
)
def test_a_search_finds_fairseqs_translations_and_scores(
    trained: Trained, exported: Path, length_penalty: float, options: tuple[str, ...]
) -> None:
    expected, actual = both(trained, exported, *options)
    # where two beginnings are as good as each other, rounding says which of them is searched on
    same = [(a, b) for a, b in zip(expected, actual, strict=True) if a.tokens == b.tokens]
    assert len(same) >= SAME_TEXT * len(expected)
    assert len({tuple(hypothesis.tokens) for hypothesis in actual}) > 100  # the model does read its input
    for a, b in same:
        assert b.score == pytest.approx(a.score, abs=tolerance(a, length_penalty))
    assert [a.limit for a in expected] == [b.limit for b in actual]


@pytest.mark.parametrize("limit", [("--max-len-b", "5"), ("--max-len-a", "0.4", "--max-len-b", "1")], ids=" ".join)
def test_a_greedy_translation_is_cut_where_fairseq_cuts_it(
    trained: Trained, exported: Path, limit: tuple[str, ...]
) -> None:
    expected, actual = both(trained, exported, "--beam", "1", "--batch-size", "16", *limit)
    assert [a.tokens for a in expected] == [b.tokens for b in actual]
    assert [a.limit for a in expected] == [b.limit for b in actual]
    assert sum(len(a.tokens) > a.limit for a in expected) > 200


def test_a_cut_translation_of_a_beam_keeps_the_limit(trained: Trained, exported: Path) -> None:
    expected, actual = both(trained, exported, "--beam", "4", "--max-len-b", "6")
    assert all(len(b.tokens) <= 7 and b.tokens[-1] == a.tokens[-1] for a, b in zip(expected, actual, strict=True))
    assert sum(a.tokens == b.tokens for a, b in zip(expected, actual, strict=True)) > 150
