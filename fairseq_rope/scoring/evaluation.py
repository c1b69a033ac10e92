"""The texts of one translation: as given, as words, as raw text; and the checks that they can be that."""

import dataclasses
from dataclasses import dataclass
from typing import NamedTuple

from fairseq_rope.scoring.checks import check_empty, check_marks, check_order
from fairseq_rope.scoring.compound_split import LANGUAGES, refuse_split_hyphens
from fairseq_rope.scoring.detokenize import bpe_kind, detokenise, join_bpe
from fairseq_rope.scoring.text import Text
from fairseq_rope_data.errors import UserError

# what tells how the hypotheses become raw text
RAW_NEEDS = "--target-lang, by whose rules the hypotheses are detokenised, or --detokenised: they are raw already"


@dataclass(frozen=True)
class Settings:
    """How to read the text, each as the option of the same name; an empty text is an option not given."""

    target_lang: str = ""
    post_process: str = ""
    detokenised: bool = False
    lowercase: bool = False
    allow: tuple[str, ...] = ()


@dataclass(frozen=True)
class Corpus:
    """The texts of one translation, aligned line by line.

    Args:
        hyps: one translation a line.
        refs: references in the same form as `hyps`; None if there is only `ref_raw`.
        ref_raw: raw references, for the detokenised scores in place of `refs`.
        src: the source, raw or tokenised, in BPE or not; only its words are counted.
    """

    hyps: Text
    refs: Text | None = None
    ref_raw: Text | None = None
    src: Text | None = None


class Pair(NamedTuple):
    """Hypotheses and references in the same form."""

    hyps: Text
    refs: Text


def kind_of_bpe(corpus: Corpus, settings: Settings) -> str:
    """Choose how BPE is joined: see `bpe_kind`; raw text has none."""
    return "none" if settings.detokenised else bpe_kind((corpus.refs or corpus.hyps).lines, settings.post_process)


def word_pair(corpus: Corpus, kind: str) -> Pair | None:
    """Join BPE pieces into words; None where there are only raw references."""
    return None if corpus.refs is None else Pair(_joined(corpus.hyps, kind), _joined(corpus.refs, kind))


def raw_pair(corpus: Corpus, kind: str, settings: Settings) -> Pair | None:
    """Give raw text as people read it; None where no language tells how to detokenise.

    Raises:
        UserError: raw references without a language.
    """
    if not (settings.detokenised or settings.target_lang):
        if corpus.ref_raw is not None:
            raise UserError(f"--ref-raw needs {RAW_NEEDS}")
        return None
    refs = corpus.ref_raw
    if refs is None and corpus.refs is not None:
        refs = _raw(corpus.refs, kind, settings)
    return None if refs is None else Pair(_raw(corpus.hyps, kind, settings), refs)


def source_words(corpus: Corpus) -> list[int] | None:
    """Count the words of each source sentence, which are what white space parts, BPE joined; None without a source."""
    if corpus.src is None:
        return None
    return [len(line.split()) for line in join_bpe(corpus.src.lines, bpe_kind(corpus.src.lines))]


def check(words: Pair | None, raw: Pair | None, settings: Settings) -> list[str]:
    """Check that the text can be what it is scored as; return notes on what was allowed.

    Raises:
        UserError: no references at all; see `checks`; or hyphens are split in what should be raw.
    """
    pair, allow = raw or words, settings.allow
    if pair is None:
        raise UserError("there are no references: give --ref or --ref-raw or both")
    notes = check_empty(*pair, allow=allow) + check_order(*pair, allow=allow)
    if raw is not None:
        notes += check_marks(*raw, allow=allow)
        if words is not None:
            notes += check_order(words.refs, raw.refs, allow=allow)
        if settings.target_lang in LANGUAGES:
            refuse_split_hyphens(raw.hyps)
            refuse_split_hyphens(raw.refs)
    return notes


def _joined(text: Text, kind: str) -> Text:
    return dataclasses.replace(text, lines=join_bpe(text.lines, kind))


def _raw(text: Text, kind: str, settings: Settings) -> Text:
    if settings.detokenised:
        return text
    return dataclasses.replace(text, lines=detokenise(join_bpe(text.lines, kind), settings.target_lang))
