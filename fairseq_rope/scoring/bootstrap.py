"""Paired bootstrap (Koehn, 2004) between translations of one test set, with sacreBLEU's own code."""

import logging
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sacrebleu.metrics.base import Metric
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.significance import PairedTest

from fairseq_rope.scoring.compound_split import (
    LANGUAGES,
    NAME,
    moses_tokens,
    split_bleu,
    split_compounds,
    split_signature,
)
from fairseq_rope.scoring.metrics import bleu_metric
from fairseq_rope_data.errors import UserError

SAMPLES = 1000
MAX_SAMPLES = 100_000  # all are drawn at once: more would fill the memory


@dataclass(frozen=True)
class Result:
    """One system's score, and its mean and spread over resampled test sets.

    Args:
        system: its name.
        score: on the test set as it is.
        mean: over the samples.
        interval: half the width of the 95% interval around `mean`.
        p_value: how likely a difference from the baseline as large as this is between equal systems; None for the
            baseline itself.
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


def paired_bootstrap(
    systems: dict[str, list[str]],
    refs: list[str],
    *,
    target_lang: str = "",
    lowercase: bool = False,
    samples: int = SAMPLES,
) -> list[Comparison]:
    """Compare systems with the first of them, the baseline, by BLEU, chrF2 and, for German, compound-split BLEU.

    The seed is sacreBLEU's, in the environment: SACREBLEU_SEED, 12345 if not set.

    Args:
        systems: name -> detokenized hypotheses; two or more.
        refs: as many raw references.
        target_lang: chooses sacreBLEU's tokenizer, as in `sacre_bleu`.
        lowercase: compare lower-cased text.
        samples: how often the test set is drawn anew.

    Raises:
        UserError: SACREBLEU_SEED is no seed, or a tokenizer isn't installed.
    """
    seed = os.environ.get("SACREBLEU_SEED", "12345")
    if not re.fullmatch("[0-9]{1,18}|[Nn]one", seed):
        raise UserError(f"SACREBLEU_SEED in the environment must be a number or None, but is {seed!r}")
    logging.getLogger("sacrebleu").setLevel(logging.WARNING)
    metrics: list[Metric] = [bleu_metric(lowercase=lowercase, target_lang=target_lang), CHRF(lowercase=lowercase)]
    comparisons = [_compare(metric, systems, refs, samples) for metric in metrics]
    if target_lang in LANGUAGES:
        split = {name: split_compounds(moses_tokens(hyps, target_lang)) for name, hyps in systems.items()}
        split_refs = split_compounds(moses_tokens(refs, target_lang))
        compared = _compare(split_bleu(lowercase=lowercase), split, split_refs, samples)
        comparisons.append(Comparison(NAME, compared.results, split_signature(compared.signature, target_lang)))
    return comparisons


def _compare(metric: Metric, systems: dict[str, list[str]], refs: Sequence[str], samples: int) -> Comparison:
    # one metric a test: in a test of several, two kinds of BLEU would have one name
    test = PairedTest(list(systems.items()), {"metric": metric}, [refs], test_type="bs", n_samples=samples)
    signatures, scores = test()
    ((name, signature),) = signatures.items()
    results = [_result(system, each) for system, each in zip(systems, scores[name], strict=True)]
    return Comparison(name, results, str(signature))


def _result(system: str, result: Any) -> Result:
    return Result(system, float(result.score), float(result.mean), float(result.ci), result.p_value)
