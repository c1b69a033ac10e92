"""Paired bootstrap (Koehn, 2004) between translations of one test set, by one or by several seeds of each system.

It measures the noise of the test set: how far a difference of these trained models could come from the sentences that
happen to be in it. The noise of training, how far it could come from the seeds, is another one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.significance import estimate_ci

from fairseq_rope.scoring.compound_split import (
    NAME,
    moses_tokens,
    split_bleu,
    split_compounds,
    split_signature,
)
from fairseq_rope.scoring.metrics import bleu_metric
from fairseq_rope.scoring.resampling import (
    SAMPLES,
    Resampled,
    ResampledScores,
    interval,
    p_value,
    resampled_scores,
)
from fairseq_rope_data.raw_text import COMPOUND_LANGUAGES


@dataclass(frozen=True)
class Result:
    """One system's score, and its mean and spread over resampled test sets.

    Args:
        system: its name.
        score: on the test set as it is.
        mean: over the samples.
        interval: half the width of the 95% interval around `mean`.
        p_value: how likely a difference from the baseline as large as this, of either sign, is between equal
            systems; None for the baseline itself.
    """

    system: str
    score: float
    mean: float
    interval: float
    p_value: float | None


@dataclass(frozen=True)
class Comparison:
    """One metric's results, the baseline's first, and its signature, with the number of samples and the seed."""

    metric: str
    results: list[Result]
    signature: str


@dataclass(frozen=True)
class Difference:
    """The difference of a system from the baseline, as the mean over seeds, and its spread over resampled test sets.

    Each resampled test set is the same for both systems and all seeds.

    Args:
        system: its name.
        mean: over the seeds, on the test set as it is.
        low: the lower end of the 95% interval of that mean over the samples.
        high: its upper end.
        p_value: how likely a mean as large as this, of either sign, is between equal systems.
    """

    system: str
    mean: float
    low: float
    high: float
    p_value: float


@dataclass(frozen=True)
class Bootstrap:
    """One metric's paired bootstrap.

    Args:
        metric: its name.
        signature: with the number of samples and the seed of the resampling.
        scores: each system -> its score by seed, on the test set as it is; the baseline first.
        differences: of each other system from the baseline, pooled over seeds.
        by_seed: a comparison for each seed.
        decimals: with which it is shown.
    """

    metric: str
    signature: str
    scores: dict[str, list[float]]
    differences: list[Difference]
    by_seed: list[Comparison]
    decimals: int = 2


def paired_bootstrap(
    systems: Mapping[str, Sequence[Sequence[str]]],
    refs: Sequence[str],
    *,
    target_lang: str = "",
    lowercase: bool = False,
    samples: int = SAMPLES,
) -> list[Bootstrap]:
    """Compare systems with the first of them, the baseline, by BLEU, chrF2 and, for German, compound-split BLEU.

    Args:
        systems: name -> detokenized hypotheses by seed; two or more systems of the same seeds.
        refs: as many raw references as each text has lines.
        target_lang: chooses sacreBLEU's tokenizer, as in `sacre_bleu`.
        lowercase: compare lower-cased text.
        samples: how often the test set is drawn anew.

    Raises:
        UserError: SACREBLEU_SEED is no seed, or a tokenizer isn't installed.
    """
    texts = [text for each_seed in systems.values() for text in each_seed]
    metrics = [bleu_metric(lowercase=lowercase, target_lang=target_lang), CHRF(lowercase=lowercase)]
    seeds = {name: len(each_seed) for name, each_seed in systems.items()}
    found = [bootstrap_of(seeds, resampled_scores(metric, texts, refs, samples=samples)) for metric in metrics]
    if target_lang in COMPOUND_LANGUAGES:
        split = [split_compounds(moses_tokens(text, target_lang)) for text in texts]
        split_refs = split_compounds(moses_tokens(refs, target_lang))
        scores = resampled_scores(split_bleu(lowercase=lowercase), split, split_refs, samples=samples)
        signature = split_signature(scores.signature, target_lang)
        found.append(bootstrap_of(seeds, ResampledScores(NAME, scores.texts, signature)))
    return found


def bootstrap_of(systems: Mapping[str, int], found: ResampledScores, *, decimals: int = 2) -> Bootstrap:
    """Return the bootstrap of one metric.

    Args:
        systems: name -> how many seeds; all have as many.
        found: scores in the order of the systems, and of the seeds of each.
        decimals: with which they are shown.
    """
    texts = iter(found.texts)
    scores = {name: [next(texts) for _ in range(count)] for name, count in systems.items()}
    baseline, *others = scores
    seeds = len(scores[baseline])
    return Bootstrap(
        found.metric,
        found.signature,
        {name: [each.score for each in row] for name, row in scores.items()},
        [_difference(name, scores[name], scores[baseline]) for name in others],
        [
            Comparison(found.metric, _results({name: row[i] for name, row in scores.items()}), found.signature)
            for i in range(seeds)
        ],
        decimals,
    )


def _difference(system: str, own: Sequence[Resampled], baseline: Sequence[Resampled]) -> Difference:
    pairs = list(zip(own, baseline, strict=True))
    mean = float(np.mean([each.score - other.score for each, other in pairs]))
    samples = np.mean([each.samples - other.samples for each, other in pairs], axis=0)
    return Difference(system, mean, *interval(samples), p_value(mean, samples))


def _results(scores: Mapping[str, Resampled]) -> list[Result]:
    (baseline, first), *others = scores.items()
    return [_result(baseline, first, None)] + [
        _result(name, each, p_value(each.score - first.score, each.samples - first.samples)) for name, each in others
    ]


def _result(system: str, found: Resampled, p: float | None) -> Result:
    mean, half = estimate_ci(found.samples)
    return Result(system, found.score, float(mean), float(half), p)
