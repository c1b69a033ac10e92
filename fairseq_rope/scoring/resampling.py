"""Scores of resampled test sets, the same sentences for all texts, from sacreBLEU's sufficient statistics.

The statistics of a test set are sums over its sentences. So those of a resampled one are a product: how often each
sentence was drawn, by the statistics of each. Draws and scores are those of sacreBLEU's paired bootstrap, which holds
all draws of a text at once, gigabytes of 50,000 sentences; here memory does not grow with their number.
"""

import logging
import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sacrebleu.metrics.base import Metric

from fairseq_rope_data.errors import UserError

SAMPLES = 1000
MAX_SAMPLES = 100_000  # more would take long and say no more
_SENTENCES = 1000  # whose n-grams are in memory at once
_DRAWS = 1_000_000  # in memory at once
# of two equal differences of scores of few values, such as accuracy, which are many: one may be rounded otherwise
_ROUNDING = 1e-9

Array = NDArray[Any]
ScoreOf = Callable[[Array], Any]  # a number of sums


@dataclass(frozen=True)
class Resampled:
    """The score of a text, and those of the same text on resampled test sets, (samples,)."""

    score: float
    samples: Array


@dataclass(frozen=True)
class ResampledScores:
    """The name of a metric, the scores of each text, and the signature with the number of samples and the seed."""

    metric: str
    texts: list[Resampled]
    signature: str


def resampled_scores(
    metric: Metric, texts: Sequence[Sequence[str]], refs: Sequence[str], *, samples: int = SAMPLES
) -> ResampledScores:
    """Score texts on the test set and on resampled ones.

    The seed is sacreBLEU's, in the environment: SACREBLEU_SEED, 12345 if not set.

    Args:
        metric: a metric whose statistics are sums, such as BLEU and chrF.
        texts: hypotheses, one or more lists of them.
        refs: as many references as each has lines.
        samples: how often the test set is drawn anew.

    Raises:
        UserError: SACREBLEU_SEED is no seed.
    """
    seed = resampling_seed()
    logging.getLogger("sacrebleu").setLevel(logging.WARNING)
    # N sentences, T texts, C statistics of each
    statistics = _statistics(metric, texts, refs)
    # (N, T, C) -> (T, C); Python's numbers, as sacreBLEU has them here
    scores = [metric._compute_score_from_stats([int(x) for x in row]) for row in statistics.sum(0)]

    def score_of(row: Array) -> Any:
        # numbers of float32, as sacreBLEU has them here, and in what it makes of them
        return metric._compute_score_from_stats([*row.astype(np.float32)]).score

    resampled = _resample(statistics, score_of, samples, seed)
    signature = metric.get_signature()
    signature.update("seed", str(seed).lower())
    signature.update("bs", samples)
    found = [Resampled(float(score.score), own) for score, own in zip(scores, resampled, strict=True)]
    return ResampledScores(scores[0].name, found, str(signature))


def resampled_sums(name: str, score_of: ScoreOf, statistics: Array, *, signature: str) -> ResampledScores:
    """Score systems by sums of their statistics, on the test set and on resampled ones, whatever its items are.

    Args:
        name: of the score.
        score_of: what it is of the sums, (C,).
        statistics: of each item and system, (N, T, C).
        signature: of the score.

    Raises:
        UserError: SACREBLEU_SEED is no seed.
    """
    seed = resampling_seed()
    resampled = _resample(statistics, score_of, SAMPLES, seed)
    found = [Resampled(score_of(whole), own) for whole, own in zip(statistics.sum(0), resampled, strict=True)]
    return ResampledScores(name, found, f"{signature}|seed:{str(seed).lower()}|bs:{SAMPLES}")


def _resample(statistics: Array, score_of: ScoreOf, samples: int, seed: int | None) -> list[Array]:
    """Return the scores of each system on resampled test sets, (samples,), of statistics (N, T, C)."""
    items, systems, _ = statistics.shape
    scores: list[list[float]] = [[] for _ in range(systems)]
    for sums in _resampled_sums(statistics.reshape(items, -1), samples, seed):
        # (T * C) -> (T, C)
        for row, own in zip(sums.reshape(systems, -1), scores, strict=True):
            own.append(score_of(row))
    return [np.array(own) for own in scores]


def interval(samples: Array) -> tuple[float, float]:
    """Return the ends of the 95% interval of resampled values, cut off as sacreBLEU does it."""
    ordered = np.sort(samples)
    cut = len(ordered) // 40
    return float(ordered[cut]), float(ordered[-1 - cut])


def p_value(difference: float, samples: Array) -> float:
    """Return the two-sided p-value of a difference: how likely one as large, of either sign, is between equal systems.

    That is the share of resampled differences at least as far from `difference` as zero is (Efron and Tibshirani, An
    Introduction to the Bootstrap, 1993, chapter 16). sacreBLEU's command counts those on one side, so that its p is
    about half of this one.

    Args:
        difference: of two systems, on the test set as it is.
        samples: that difference on resampled ones.
    """
    larger = int(np.sum(np.abs(samples - difference) >= abs(difference) - _ROUNDING))
    return (larger + 1) / (len(samples) + 1)


def resampling_seed() -> int | None:
    """Return sacreBLEU's seed, of SACREBLEU_SEED in the environment: 12345 if that is not set, None for `None`.

    Raises:
        UserError: it is no seed.
    """
    seed = os.environ.get("SACREBLEU_SEED", "12345")
    if not re.fullmatch("[0-9]{1,18}|[Nn]one", seed):
        raise UserError(f"SACREBLEU_SEED in the environment must be a number or None, but is {seed!r}")
    return None if seed.lower() == "none" else int(seed)


def _statistics(metric: Metric, texts: Sequence[Sequence[str]], refs: Sequence[str]) -> Array:
    """Return the statistics of each sentence, (N, T, C), as float64, whose sums of such counts are exact."""
    blocks = []
    for first in range(0, len(refs), _SENTENCES):
        block = slice(first, first + _SENTENCES)
        metric._ref_cache = metric._cache_references([refs[block]])
        rows = [metric._extract_corpus_statistics(text[block], None) for text in texts]
        # (T, N, C) -> (N, T, C)
        blocks.append(np.array(rows, dtype=np.float64).swapaxes(0, 1))
        metric._force = True  # it has warned of tokenized text, if it is: not again of each block
    return np.concatenate(blocks)


def _resampled_sums(statistics: Array, samples: int, seed: int | None) -> Iterator[Array]:
    """Yield the sums of statistics (N, X) over the sentences of each resampled test set, (X,)."""
    for counts in draws(len(statistics), samples, seed):
        # (size, N) @ (N, X) -> (size, X)
        yield from counts @ statistics


def draws(sentences: int, samples: int, seed: int | None) -> Iterator[Array]:
    """Yield how often each sentence is in each resampled test set, (size, N), for as many as are in memory at once."""
    rng = np.random.default_rng(seed)
    most = max(1, _DRAWS // sentences)
    for first in range(0, samples, most):
        drawn = rng.choice(sentences, size=(min(most, samples - first), sentences), replace=True)
        yield np.array([np.bincount(row, minlength=sentences) for row in drawn], dtype=np.float64)
