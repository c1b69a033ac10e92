"""Resampled scores and the bootstrap pooled over seeds: sacreBLEU's own test and a slow loop are the oracles."""

import math
import tracemalloc

import numpy as np
import pytest
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.significance import PairedTest

from fairseq_rope.scoring import resampling
from fairseq_rope.scoring.bootstrap import Bootstrap, paired_bootstrap
from fairseq_rope.scoring.compound_split import moses_tokens, split_bleu, split_compounds
from fairseq_rope.scoring.resampling import p_value, resampled_scores
from fairseq_rope_data.errors import UserError
from tests.support.corpora import sentences, system

REFS = [line.replace("ba", "ba-ko") for line in sentences(20, seed=3)]
SYSTEMS = {
    "a": [system(REFS, errors=0.4, seed=seed) for seed in (1, 2, 3)],
    "b": [system(REFS, errors=0.36, seed=seed) for seed in (4, 5, 6)],
    "c": [system(REFS, errors=0.2, seed=seed) for seed in (7, 8, 9)],
}
SPLIT = {name: [split_compounds(moses_tokens(text, "de")) for text in texts] for name, texts in SYSTEMS.items()}
SPLIT_REFS = split_compounds(moses_tokens(REFS, "de"))
SAMPLES = 40
METRICS = {
    "BLEU": (lambda: BLEU(trg_lang="de"), SYSTEMS, REFS),
    "chrF2": (CHRF, SYSTEMS, REFS),
    "compound-split BLEU": (split_bleu, SPLIT, SPLIT_REFS),
}


def bootstraps(**texts: list[list[str]]) -> dict[str, Bootstrap]:
    return {each.metric: each for each in paired_bootstrap(texts, REFS, target_lang="de", samples=SAMPLES)}


@pytest.mark.parametrize("seed", ["12345", "7"])
@pytest.mark.parametrize("name", METRICS)
def test_of_a_single_seed_every_number_is_sacrebleus(name: str, seed: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("SACREBLEU_SEED", seed)
    # blocks of sentences and parts of draws that do not come out even
    monkeypatch.setattr(resampling, "_SENTENCES", 7)
    monkeypatch.setattr(resampling, "_DRAWS", 4 * len(REFS))
    make, systems, refs = METRICS[name]
    texts = [(key, own[1]) for key, own in systems.items()]
    signatures, scores = PairedTest(texts, {"x": make()}, [refs], test_type="bs", n_samples=SAMPLES)()
    ((metric, signature),) = signatures.items()
    found = bootstraps(**{key: own[1:2] for key, own in SYSTEMS.items()})[name]
    (comparison,) = found.by_seed
    for ours, theirs in zip(comparison.results, scores[metric], strict=True):
        assert (ours.score, ours.mean, ours.interval) == (theirs.score, theirs.mean, theirs.ci)
    assert [each.p_value for each in found.differences] == [each.p_value for each in comparison.results[1:]]
    if name != "compound-split BLEU":
        assert found.signature == comparison.signature == str(signature)


@pytest.mark.parametrize("name", METRICS)
def test_pooled_over_seeds_it_is_a_slow_loop_that_scores_resampled_lines(name: str):
    make, systems, refs = METRICS[name]
    rng = np.random.default_rng(12345)
    draws = rng.choice(len(refs), size=(SAMPLES, len(refs)))
    found = bootstraps(a=SYSTEMS["a"], b=SYSTEMS["b"])[name]

    def mean_difference(lines: list[int]) -> float:
        ref = [refs[i] for i in lines]
        scores = {
            key: [make().corpus_score([text[i] for i in lines], [ref]).score for text in systems[key]] for key in "ab"
        }
        return math.fsum(own - other for own, other in zip(scores["b"], scores["a"], strict=True)) / 3

    real, samples = mean_difference([*range(len(refs))]), [mean_difference([*row]) for row in draws]
    (difference,) = found.differences
    assert difference.mean == pytest.approx(real, abs=1e-6)
    # 40 samples: one is cut off at each end
    ordered = sorted(samples)
    assert (difference.low, difference.high) == pytest.approx((ordered[1], ordered[-2]), abs=1e-4)
    # as far beyond the difference, or on the other side of zero
    larger = sum(each >= 2 * real or each <= 0 for each in samples)
    assert real > 0 and difference.p_value == (larger + 1) / (SAMPLES + 1)
    assert found.scores["b"] == pytest.approx([make().corpus_score(text, [refs]).score for text in systems["b"]])


def test_equal_systems_differ_significantly_once_in_twenty_times():
    rng = np.random.default_rng(1)
    # 1,000 test sets of 100 sentences, of which each is better translated by either system with the same probability
    better = rng.integers(-1, 2, (1000, 100))
    draws = rng.integers(0, 100, (200, 100))
    found = np.array([p_value(each.mean(), each[draws].mean(1)) for each in better])
    for level in (0.05, 0.2, 0.5, 0.8):
        spread = (level * (1 - level) / len(found)) ** 0.5
        assert abs(np.mean(found <= level) - level) < 4 * spread + 0.03
    assert p_value(0.0, np.zeros(100)) == 1


def test_p_is_that_of_both_signs():
    samples = np.random.default_rng(2).normal(1.0, 1.0, 100_000)
    # of a difference of one standard deviation
    assert p_value(1.0, samples) == pytest.approx(math.erfc(0.5**0.5), abs=0.01)
    assert p_value(-1.0, -samples) == p_value(1.0, samples)


def test_all_systems_and_seeds_see_the_same_test_sets():
    for each in bootstraps(a=SYSTEMS["a"], b=SYSTEMS["a"][::-1]).values():
        # the same texts, in another order of the seeds: no test set tells them apart
        (difference,) = each.differences
        assert (difference.mean, difference.low, difference.high) == pytest.approx((0, 0, 0), abs=1e-5)
        # and two seeds of the same text say no more than one
        one, two = (bootstraps(a=SYSTEMS["a"][:1] * n, b=SYSTEMS["b"][:1] * n)[each.metric] for n in (1, 2))
        assert one.differences == two.differences


def test_memory_does_not_grow_with_the_number_of_draws():
    statistics = np.ones((50_000, 60))  # six texts of BLEU
    tracemalloc.start()
    sums = sum(row[0] for row in resampling._resampled_sums(statistics, 120, 1))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # sacreBLEU holds 120 x 50,000 draws, 48 MB, and their statistics, 240 MB for each text
    assert sums == 120 * 50_000 and peak < 60e6


def test_a_seed_of_none_draws_anew_each_time(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("SACREBLEU_SEED", "None")
    first, second = (resampled_scores(BLEU(), [SYSTEMS["a"][0]], REFS, samples=20) for _ in range(2))
    assert "seed:none" in first.signature and [*first.texts[0].samples] != [*second.texts[0].samples]
    monkeypatch.setenv("SACREBLEU_SEED", "x")
    with pytest.raises(UserError, match="SACREBLEU_SEED in the environment must be a number or None, but is 'x'"):
        resampled_scores(BLEU(), [SYSTEMS["a"][0]], REFS)


def test_tokenized_text_is_told_once_for_each_text(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch):
    refs = REFS * 30  # all end in " ."
    monkeypatch.setattr(resampling, "_SENTENCES", 300)
    resampled_scores(BLEU(), [SYSTEMS["a"][0] * 30, SYSTEMS["b"][0] * 30], refs, samples=2)
    assert sum("tokenized period" in record.message for record in caplog.records) == 2
