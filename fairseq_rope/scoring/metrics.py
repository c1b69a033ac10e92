"""Scores of a translation, each a function of hypotheses and references that carries a signature of its settings."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF

from fairseq_rope_data.errors import UserError


@dataclass(frozen=True)
class Score:
    """A score: its value, its text for people, and its signature, the settings it was measured with."""

    name: str
    value: float
    text: str
    signature: str


Metric = Callable[[Sequence[str], Sequence[str]], Score]


def fairseq_bleu(hyps: Sequence[str], refs: Sequence[str], *, lowercase: bool = False) -> Score:
    """Score tokens as they stand with fairseq's own scorer, as fairseq-score does; the text is its BLEU4 line.

    It is no plain BLEU: `<unk>` in a reference never matches, and an empty line counts as one token. No smoothing.

    Args:
        hyps: tokens separated by white space, BPE joined or not.
        refs: as many references; at least one.
        lowercase: fairseq-score's --ignore-case.
    """
    # here, so that who reads scores alone need not load torch
    from fairseq.data import Dictionary
    from fairseq.scoring.bleu import BleuConfig, Scorer

    words = Dictionary()
    scorer = Scorer(BleuConfig(pad=words.pad(), eos=words.eos(), unk=words.unk()))
    for pair in zip(refs, hyps, strict=True):
        scorer.add(*(words.encode_line(line.lower() if lowercase else line) for line in pair))
    signature = f"nrefs:1|case:{'lc' if lowercase else 'mixed'}|eff:no|tok:as-is|smooth:none|like:fairseq-score"
    return Score("BLEU4", scorer.score(), scorer.result_string(), signature)


def bleu_metric(*, lowercase: bool = False, target_lang: str = "") -> BLEU:
    """Return sacreBLEU's BLEU; the tokenizer is 13a, or the one it has for `target_lang`.

    Raises:
        UserError: that tokenizer (Japanese, Korean) isn't installed.
    """
    try:
        return BLEU(lowercase=lowercase, trg_lang=target_lang)
    except RuntimeError as error:
        raise UserError(f"--target-lang {target_lang}: {' '.join(str(error).split())}") from error


def sacre_bleu(hyps: Sequence[str], refs: Sequence[str], *, lowercase: bool = False, target_lang: str = "") -> Score:
    """Score detokenized text with sacreBLEU's BLEU; see `bleu_metric`."""
    bleu = bleu_metric(lowercase=lowercase, target_lang=target_lang)
    score = bleu.corpus_score(list(hyps), [list(refs)])
    return Score("BLEU", score.score, str(score), str(bleu.get_signature()))


def chrf(hyps: Sequence[str], refs: Sequence[str], *, lowercase: bool = False) -> Score:
    """Score detokenized text with sacreBLEU's chrF2."""
    metric = CHRF(lowercase=lowercase)
    score = metric.corpus_score(list(hyps), [list(refs)])
    return Score("chrF2", score.score, str(score), str(metric.get_signature()))
