"""The report on an evaluation: every score that its texts allow, with notes for the reader."""

import functools
from dataclasses import dataclass, field

from fairseq_rope.scoring.compound_split import compound_split_bleu
from fairseq_rope.scoring.detokenize import check_language
from fairseq_rope.scoring.evaluation import (
    Evaluation,
    ScoreSettings,
    Sentences,
    TextPair,
    check_texts,
    kind_of_bpe,
    raw_pair,
    sentences_of,
    source_words,
    word_pair,
)
from fairseq_rope.scoring.length_buckets import Bucket, length_buckets
from fairseq_rope.scoring.metrics import Metric, Score, chrf, fairseq_bleu, sacre_bleu
from fairseq_rope.scoring.windows import WindowScores, all_lines, whole_windows, window_scores
from fairseq_rope_data.errors import UserError
from fairseq_rope_data.raw_text import COMPOUND_LANGUAGES
from fairseq_rope_data.window_index import WindowIndex


@dataclass
class Report:
    """The scores of one translation; a note says what is left out, and why.

    Args:
        sentences: how many.
        settings: how the text was read.
        scores: in the order in which people read them.
        buckets: sacreBLEU's BLEU by the length of the source.
        notes: one sentence each.
        windows: BLEU by sentence, where each line is a window of several.
        raw_hyps: the hypotheses as the detokenized scores saw them, of windows a line for each of their sentences; None
            where there are no such scores.
    """

    sentences: int
    settings: ScoreSettings
    scores: list[Score] = field(default_factory=list)
    buckets: list[Bucket] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    windows: WindowScores | None = None
    raw_hyps: list[str] | None = None


def score(evaluation: Evaluation, settings: ScoreSettings) -> Report:
    """Score hypotheses in every way that the text at hand allows.

    Raises:
        UserError: settings that don't fit the text or each other, or text that can't be trusted: see `check_texts`.
    """
    if settings.detokenized and settings.post_process:
        raise UserError("--detokenized excludes --post-process: raw text has no BPE")
    check_language(settings.target_lang)
    kind = kind_of_bpe(evaluation, settings)
    words, sentences = word_pair(evaluation, kind), sentences_of(evaluation, kind, settings)
    if evaluation.windows is None:
        raw = raw_pair(evaluation, kind, settings)
    else:
        raw = sentences and TextPair(*(whole_windows(text, evaluation.windows) for text in sentences.raw))
    report = Report(len(evaluation.hyps.lines), settings, notes=check_texts(words, raw, settings))
    if settings.detokenized:
        report.notes.append("no tokenized BLEU4: the text is --detokenized")
    elif evaluation.refs is None or words is None:
        report.notes.append("no tokenized BLEU4: it needs --ref, references tokenized as the hypotheses are")
    else:
        report.scores += _tokenized(TextPair(evaluation.hyps, evaluation.refs), words, kind, settings)
    if raw is None:
        report.notes.append(
            "no detokenized BLEU and chrF: raw text, as sacreBLEU takes it, needs --detokenized; "
            "tokens need --target-lang, such as --target-lang de"
        )
    else:
        _score_raw(report, raw, source_words(evaluation))
        report.notes += _unknown_words(evaluation)
    if sentences is not None and evaluation.windows is not None:
        _score_sentences(report, sentences, evaluation.windows)
    return report


def _tokenized(given: TextPair, words: TextPair, kind: str, settings: ScoreSettings) -> list[Score]:
    """Score tokens as they stand, and as words too where there is BPE in them."""
    as_is, joined = (
        fairseq_bleu(pair.hyps.lines, pair.refs.lines, lowercase=settings.lowercase) for pair in (given, words)
    )
    if as_is == joined:
        return [as_is]
    name = f"{joined.name} without BPE"
    text = joined.text.replace(joined.name, name, 1)
    signature = joined.signature.replace("tok:as-is", f"tok:{kind.strip()}-joined")
    return [as_is, Score(name, joined.value, text, signature)]


def _score_raw(report: Report, raw: TextPair, lengths: list[int] | None) -> None:
    """Add the scores of raw text to a report."""
    lowercase, language = report.settings.lowercase, report.settings.target_lang
    bleu = functools.partial(sacre_bleu, lowercase=lowercase, target_lang=language)
    metrics: list[Metric] = [bleu, functools.partial(chrf, lowercase=lowercase)]
    if language in COMPOUND_LANGUAGES:
        metrics.append(functools.partial(compound_split_bleu, target_lang=language, lowercase=lowercase))
    report.scores += [metric(raw.hyps.lines, raw.refs.lines) for metric in metrics]
    report.raw_hyps = raw.hyps.lines
    if lengths is None:
        report.notes.append("no BLEU by source length: it needs --src")
    else:
        report.buckets = length_buckets(lengths, raw.hyps.lines, raw.refs.lines, bleu)


def _score_sentences(report: Report, sentences: Sentences, index: WindowIndex) -> None:
    """Add the scores of the sentences of windows to a report."""
    metric = functools.partial(sacre_bleu, lowercase=report.settings.lowercase, target_lang=report.settings.target_lang)
    hyps, refs = (text.lines for text in sentences.raw)
    report.windows = window_scores(hyps, refs, index, wrong=sentences.wrong, metric=metric)
    report.raw_hyps = all_lines(hyps, index)
    if any(score.name == "BLEU4" for score in report.scores):
        report.notes.append(f"BLEU4 counts {index.separator} as a word")


def _unknown_words(evaluation: Evaluation) -> list[str]:
    # fairseq-generate prints a reference's unknown word as <<unk>>, with a detokenized full stop as <<unk>>.
    if evaluation.refs is None or evaluation.ref_raw is not None:
        return []
    count = sum(line.count("<unk>") for line in evaluation.refs.lines)
    return [f"the references hold {count} unknown words: --ref-raw gives the true text"] if count else []
