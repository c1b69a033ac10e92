"""Scores of a translation, each a function of hypotheses and references that carries a signature of its settings."""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF

from fairseq_rope.tools._common import ToolError

_MAX_ORDER = 4
# words that fairseq's dictionary turns into its special symbols
_PAD, _EOS, _UNK = "<pad>", "</s>", "<unk>"


@dataclass(frozen=True)
class Score:
    """One number, its text for people, and the settings it was measured with."""

    name: str
    value: float
    text: str
    signature: str


Metric = Callable[[Sequence[str], Sequence[str]], Score]


def fairseq_bleu(hyps: Sequence[str], refs: Sequence[str], *, lowercase: bool = False) -> Score:
    """Score tokens as they stand, exactly as fairseq-score and fairseq-generate do; the text is their BLEU4 line.

    Their ways that a plain BLEU lacks: `<unk>` in a reference never matches, and an empty line counts as one token,
    the end of sentence. No smoothing.

    Args:
        hyps: tokens separated by white space, BPE joined or not.
        refs: as many references; at least one.
        lowercase: fairseq-score's --ignore-case.
    """
    hyp_len = ref_len = 0
    matches, totals = [0] * _MAX_ORDER, [0] * _MAX_ORDER
    for hyp, ref in zip(hyps, refs, strict=True):
        hyp_tokens = _fairseq_tokens(hyp.lower() if lowercase else hyp)
        ref_tokens = _fairseq_tokens(ref.lower() if lowercase else ref)
        hyp_len += len(hyp_tokens)
        ref_len += len(ref_tokens)
        for n in range(1, _MAX_ORDER + 1):
            hyp_ngrams = _ngrams(hyp_tokens, n)
            matches[n - 1] += (hyp_ngrams & _without_unknown(_ngrams(ref_tokens, n))).total()
            totals[n - 1] += hyp_ngrams.total()
    precisions = [match / total if total else 0.0 for match, total in zip(matches, totals, strict=True)]
    brevity = min(1.0, math.exp(1 - ref_len / hyp_len))
    # the same operations in the same order as fairseq's, so that the last digit is rounded alike
    value = brevity * math.exp(sum(math.log(p) if p else -math.inf for p in precisions) / _MAX_ORDER) * 100
    percents = "/".join(f"{100 * precision:.1f}" for precision in precisions)
    lengths = f"BP={brevity:.3f}, ratio={hyp_len / ref_len:.3f}, syslen={hyp_len}, reflen={ref_len}"
    case = "lc" if lowercase else "mixed"
    signature = f"nrefs:1|case:{case}|eff:no|tok:as-is|smooth:none|like:fairseq-score"
    return Score("BLEU4", value, f"BLEU4 = {value:.2f}, {percents} ({lengths})", signature)


def sacre_bleu(hyps: Sequence[str], refs: Sequence[str], *, lowercase: bool = False, target_lang: str = "") -> Score:
    """Score detokenised text with sacreBLEU's BLEU; the tokeniser is 13a, or the one it has for `target_lang`.

    Raises:
        ToolError: sacreBLEU's tokeniser for `target_lang` (Japanese, Korean) isn't installed.
    """
    try:
        bleu = BLEU(lowercase=lowercase, trg_lang=target_lang)
    except RuntimeError as error:
        raise ToolError(f"--target-lang {target_lang}: {' '.join(str(error).split())}") from error
    score = bleu.corpus_score(list(hyps), [list(refs)])
    return Score("BLEU", score.score, str(score), str(bleu.get_signature()))


def chrf(hyps: Sequence[str], refs: Sequence[str], *, lowercase: bool = False) -> Score:
    """Score detokenised text with sacreBLEU's chrF2."""
    metric = CHRF(lowercase=lowercase)
    score = metric.corpus_score(list(hyps), [list(refs)])
    return Score("chrF2", score.score, str(score), str(metric.get_signature()))


def _fairseq_tokens(line: str) -> list[str]:
    """Split as fairseq's dictionary does, and trim as its scorer does: pads in front, pads and ends behind."""
    tokens = [*line.split(), _EOS]
    while tokens[0] == _PAD:  # never past the last token, which is an end
        del tokens[0]
    while len(tokens) > 1 and tokens[-1] in (_PAD, _EOS):
        del tokens[-1]
    return tokens


def _ngrams(tokens: list[str], n: int) -> Counter[tuple[str, ...]]:
    return Counter(tuple(tokens[i : i + n]) for i in range(len(tokens) - n + 1))


def _without_unknown(ngrams: Counter[tuple[str, ...]]) -> Counter[tuple[str, ...]]:
    return Counter({ngram: count for ngram, count in ngrams.items() if _UNK not in ngram})
