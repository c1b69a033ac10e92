"""From fairseq's tokens back to text that people read: BPE joined, Moses tokens joined, escapes undone."""

import re
from collections.abc import Sequence

from sacremoses import MosesDetokenizer

from fairseq_rope_data.errors import UserError

# what fairseq's --post-process takes for text
BPE_KINDS = ("subword_nmt", "@@ ", "@@", "sentencepiece", "wordpiece", "letter", "_EOW", "none")
_SENTENCEPIECE_SPACE = "\u2581"
_JOINERS = {"subword_nmt": "@@ ", "@@ ": "@@ ", "@@": "@@"}
_WORD_ENDS = {"sentencepiece": _SENTENCEPIECE_SPACE, "wordpiece": "_", "letter": "|", "_EOW": "_EOW"}
# Moses' language codes; it takes any other text for an unknown language in silence, such as mBART's fr_XX
_LANGUAGE = re.compile(r"[a-z]{2,3}")


def check_language(target_lang: str) -> None:
    """Check a language code, which may be empty.

    Raises:
        UserError: it isn't of two or three small letters.
    """
    if target_lang and not _LANGUAGE.fullmatch(target_lang):
        raise UserError(f"--target-lang must be a code of two or three small letters, but is {target_lang!r}")


def bpe_kind(lines: Sequence[str], wanted: str = "") -> str:
    """Return how to join BPE: as `wanted`, or else sentencepiece where every line has its mark, or subword_nmt.

    Raises:
        UserError: `wanted` is the other kind than the text is, which would give a wrong score without a sign.
    """
    marked = [_SENTENCEPIECE_SPACE in line for line in lines if line.strip()]
    if not wanted:
        return "sentencepiece" if marked and all(marked) else "subword_nmt"
    if wanted == "sentencepiece" and marked and not any(marked):
        raise UserError("--post-process is sentencepiece, but no line has its mark U+2581")
    if wanted in ("subword_nmt", "@@ ", "@@") and marked and all(marked):
        raise UserError(f"--post-process is {wanted}, but every line has U+2581, the mark of sentencepiece")
    return wanted


def join_bpe(lines: Sequence[str], kind: str) -> list[str]:
    """Join BPE pieces into words as fairseq's --post-process `kind`, one of BPE_KINDS, does.

    Written again, for to load fairseq takes longer than to score with what is joined here.
    """
    if kind == "none":
        return list(lines)
    if kind in _WORD_ENDS:
        return [line.replace(" ", "").replace(_WORD_ENDS[kind], " ").strip() for line in lines]
    return [f"{line} ".replace(_JOINERS[kind], "").rstrip() for line in lines]


def detokenize(lines: Sequence[str], target_lang: str) -> list[str]:
    """Join Moses tokens into text by the rules of `target_lang`, and undo Moses' escapes such as `&apos;`."""
    moses = MosesDetokenizer(lang=target_lang)
    return [moses.detokenize(line.split()) for line in lines]
