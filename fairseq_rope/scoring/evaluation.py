"""An evaluation: hypotheses and references as given, as words, as raw text, and checks that they can be that."""

import dataclasses
from dataclasses import dataclass
from typing import NamedTuple

from fairseq_rope.scoring.checks import check_bpe_markers, check_empty, check_order
from fairseq_rope.scoring.compound_split import check_no_split_hyphens
from fairseq_rope.scoring.detokenize import bpe_kind, detokenize, join_bpe
from fairseq_rope.scoring.text import Text
from fairseq_rope.scoring.windows import lines_in_windows, split_references, split_windows
from fairseq_rope_data.errors import UserError
from fairseq_rope_data.raw_text import COMPOUND_LANGUAGES
from fairseq_rope_data.window_index import WindowIndex

# the options of which one says how the hypotheses become raw text
RAW_NEEDS = "--target-lang, by whose rules the hypotheses are detokenized, or --detokenized: they are raw already"


@dataclass(frozen=True)
class ScoreSettings:
    """How to read the text, as the options of the same names say; empty where one is not given."""

    target_lang: str = ""
    post_process: str = ""
    detokenized: bool = False
    lowercase: bool = False
    allow: tuple[str, ...] = ()


@dataclass(frozen=True)
class Evaluation:
    """The texts of one translation, aligned line by line.

    Args:
        hyps: one translation a line.
        refs: references in the same form as `hyps`; None if there is only `ref_raw`.
        ref_raw: raw references, for the detokenized scores in place of `refs`.
        src: the source, raw or tokenized, in BPE or not; only its words are counted.
        windows: where the sentences stand, if a line of `hyps`, `refs` and `src` is a window of several; `ref_raw` has
            a line for each line that the windows were made of.
    """

    hyps: Text
    refs: Text | None = None
    ref_raw: Text | None = None
    src: Text | None = None
    windows: WindowIndex | None = None


class TextPair(NamedTuple):
    """Hypotheses and references in the same form."""

    hyps: Text
    refs: Text


class Sentences(NamedTuple):
    """The sentences of windows as raw text, and how many windows have hypotheses of another number of them."""

    raw: TextPair
    wrong: int


def kind_of_bpe(evaluation: Evaluation, settings: ScoreSettings) -> str:
    """Return how to join BPE: see `bpe_kind`; raw text has none."""
    return (
        "none" if settings.detokenized else bpe_kind((evaluation.refs or evaluation.hyps).lines, settings.post_process)
    )


def word_pair(evaluation: Evaluation, kind: str) -> TextPair | None:
    """Return the text with BPE pieces joined into words; None where there are only raw references."""
    return None if evaluation.refs is None else TextPair(_joined(evaluation.hyps, kind), _joined(evaluation.refs, kind))


def raw_pair(evaluation: Evaluation, kind: str, settings: ScoreSettings) -> TextPair | None:
    """Return raw text as people read it; None where no language tells how to detokenize.

    Raises:
        UserError: raw references without a language.
    """
    if not (settings.detokenized or settings.target_lang):
        if evaluation.ref_raw is not None:
            raise UserError(f"--ref-raw needs {RAW_NEEDS}")
        return None
    refs = evaluation.ref_raw
    if refs is None and evaluation.refs is not None:
        refs = _raw(evaluation.refs, kind, settings)
    return None if refs is None else TextPair(_raw(evaluation.hyps, kind, settings), refs)


def sentences_of(evaluation: Evaluation, kind: str, settings: ScoreSettings) -> Sentences | None:
    """Return the sentences of windows as `raw_pair` makes raw text; None where that is None, or no line is a window.

    Raises:
        UserError: raw references without a language, or references of another number of sentences than the index says.
    """
    index = evaluation.windows
    if index is None:
        return None
    hyps, wrong = split_windows(_joined(evaluation.hyps, kind), index)
    refs = None if evaluation.refs is None else split_references(_joined(evaluation.refs, kind), index)
    ref_raw = None if evaluation.ref_raw is None else lines_in_windows(evaluation.ref_raw, index)
    raw = raw_pair(Evaluation(hyps, refs, ref_raw), "none", settings)
    return None if raw is None else Sentences(raw, len(wrong))


def source_words(evaluation: Evaluation) -> list[int] | None:
    """Return the number of words, between white space, of each source sentence, BPE joined; None without a source."""
    if evaluation.src is None:
        return None
    lines = join_bpe(evaluation.src.lines, bpe_kind(evaluation.src.lines))
    if evaluation.windows is not None:
        lines = [line.replace(evaluation.windows.separator, " ") for line in lines]
    return [len(line.split()) for line in lines]


def check_texts(words: TextPair | None, raw: TextPair | None, settings: ScoreSettings) -> list[str]:
    """Check that the text can be what it is scored as; return notes on what was allowed.

    Raises:
        UserError: no references at all; see `checks`; or hyphens are split in what should be raw.
    """
    pair, allow = raw or words, settings.allow
    if pair is None:
        raise UserError("there are no references: give --ref or --ref-raw or both")
    notes = check_empty(*pair, allow=allow) + check_order(*pair, allow=allow)
    if raw is not None:
        notes += check_bpe_markers(*raw, allow=allow)
        if words is not None:
            notes += check_order(words.refs, raw.refs, allow=allow)
        if settings.target_lang in COMPOUND_LANGUAGES:
            check_no_split_hyphens(raw.hyps)
            check_no_split_hyphens(raw.refs)
    return notes


def _joined(text: Text, kind: str) -> Text:
    return dataclasses.replace(text, lines=join_bpe(text.lines, kind))


def _raw(text: Text, kind: str, settings: ScoreSettings) -> Text:
    if settings.detokenized:
        return text
    return dataclasses.replace(text, lines=detokenize(join_bpe(text.lines, kind), settings.target_lang))
