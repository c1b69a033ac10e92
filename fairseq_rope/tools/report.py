"""All scores that a translation's text allows, and what a reader of them must know."""

import functools
from collections.abc import Sequence
from dataclasses import dataclass, field

from fairseq_rope.tools._common import ToolError
from fairseq_rope.tools.detokenise import bpe_kind, detokenise, join_bpe
from fairseq_rope.tools.metrics import Metric, Score, chrf, fairseq_bleu, sacre_bleu


@dataclass(frozen=True)
class Settings:
    """How to read the text, each as the option of the same name; an empty text is an option not given."""

    target_lang: str = ""
    post_process: str = ""
    detokenised: bool = False
    lowercase: bool = False


@dataclass
class Report:
    """The scores of one translation; a note says what is left out, and why."""

    sentences: int
    scores: list[Score] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def score(hyps: list[str], refs: list[str] | None, settings: Settings, *, ref_raw: list[str] | None = None) -> Report:
    """Score hypotheses in every way that the text at hand allows.

    Args:
        hyps: one translation a line.
        refs: as many references in the same form as `hyps`; None if there is only `ref_raw`.
        settings: see there.
        ref_raw: as many raw references, for the detokenised scores in place of `refs`.

    Raises:
        ToolError: settings that don't fit the text or each other.
    """
    if settings.detokenised and settings.post_process:
        raise ToolError("--detokenised excludes --post-process: raw text has no BPE")
    report = Report(sentences=len(hyps))
    kind = "none" if settings.detokenised else bpe_kind(hyps if refs is None else refs, settings.post_process)
    if settings.detokenised:
        report.notes.append("no tokenised BLEU4: the text is --detokenised")
    elif refs is None:
        report.notes.append("no tokenised BLEU4: it needs --ref, references tokenised as the hypotheses are")
    else:
        report.scores += _tokenised(hyps, refs, kind, settings)
    if settings.detokenised or settings.target_lang:
        raw_hyps = hyps if settings.detokenised else detokenise(join_bpe(hyps, kind), settings.target_lang)
        if ref_raw is None and refs is not None:
            ref_raw = refs if settings.detokenised else detokenise(join_bpe(refs, kind), settings.target_lang)
            report.notes += _unknown_words(refs)
        report.scores += apply_metrics(_raw_metrics(settings), raw_hyps, ref_raw or [])
    elif ref_raw is not None:
        raise ToolError("--ref-raw needs --target-lang, the language by which the hypotheses are detokenised")
    else:
        report.notes.append("no detokenised BLEU and chrF: they need --target-lang, such as --target-lang de")
    return report


def apply_metrics(metrics: Sequence[Metric], hyps: Sequence[str], refs: Sequence[str]) -> list[Score]:
    """Score the same text with each metric."""
    return [metric(hyps, refs) for metric in metrics]


def _tokenised(hyps: list[str], refs: list[str], kind: str, settings: Settings) -> list[Score]:
    """Score tokens as they stand, and as words too where there is BPE in them."""
    bleu4 = functools.partial(fairseq_bleu, lowercase=settings.lowercase)
    scores = apply_metrics([bleu4], hyps, refs)
    words = apply_metrics([bleu4], join_bpe(hyps, kind), join_bpe(refs, kind))
    if words == scores:
        return scores
    name = f"{words[0].name} without BPE"
    text = words[0].text.replace(words[0].name, name, 1)
    signature = words[0].signature.replace("tok:as-is", f"tok:{kind.strip()}-joined")
    return [*scores, Score(name, words[0].value, text, signature)]


def _raw_metrics(settings: Settings) -> list[Metric]:
    return [
        functools.partial(sacre_bleu, lowercase=settings.lowercase, target_lang=settings.target_lang),
        functools.partial(chrf, lowercase=settings.lowercase),
    ]


def _unknown_words(refs: list[str]) -> list[str]:
    # fairseq-generate prints a reference's unknown word as <<unk>>, with a detokenised full stop as <<unk>>.
    count = sum(line.count("<unk>") for line in refs)
    return [f"the references hold {count} unknown words: --ref-raw gives the true text"] if count else []
