"""The way of a line to a model's pieces, one for training text and new text, or a model would see other words.

    clean -> normalize -> white space -> lower-case -> tokenize -> BPE

`tokenize` takes its lines up to BPE, which is learned from what that writes; `apply_bpe` and `sentencepiece_bpe apply`
do the rest; `translate` (inference/line_codec.py) does all. To clean is to refuse a line that is no UTF-8 in a corpus
(files.py), and to make the best of it in new text (clean_line.py), where each line has a translation.

Libraries are given and not imported: each program needs one of them.
"""

import functools
from typing import TYPE_CHECKING

from fairseq_rope_data.workers import LineFunction

if TYPE_CHECKING:
    from sacremoses import MosesTokenizer
    from sentencepiece import SentencePieceProcessor
    from subword_nmt.apply_bpe import BPE

# words that each process remembers: most of a text's with some 50 MB; what is seen least lately goes
CACHED_WORDS = 1 << 17
LONGEST_CACHED = 40  # characters; a longer word hardly comes again, and may be a whole line


def segmenter(
    *,
    normalize: LineFunction = str,
    lowercase: bool = False,
    tokenize: LineFunction = str,
    split: LineFunction = str,
) -> LineFunction:
    """Return the function from a clean line to its pieces; a step that isn't given does nothing."""

    def segment(line: str) -> str:
        # what Unicode or Python calls a line break or a space becomes a space, but not before normalization, which
        # tells a no-break space from others
        text = " ".join(normalize(line).split())
        return split(tokenize(text.lower() if lowercase else text))

    return segment


def moses(tokenizer: "MosesTokenizer", *, dash_splits: bool, escape: bool) -> LineFunction:
    """Return the step that is fairseq's `--tokenizer moses`.

    Args:
        tokenizer: sacremoses' own, of the line's language.
        dash_splits: schwarz-weiß becomes schwarz @-@ weiß.
        escape: ' and others become &apos; and so on.
    """
    return functools.partial(tokenizer.tokenize, return_str=True, aggressive_dash_splits=dash_splits, escape=escape)


def sentencepiece(model: "SentencePieceProcessor") -> LineFunction:
    """Return the step that splits a line with a sentencepiece model, without sampling."""
    return lambda line: " ".join(model.encode(line, out_type=str))


class SubwordNMT:
    """The step that splits a line as `bpe.process_line` does (subword-nmt 0.3.8), in bounded memory.

    A word is split once while it is remembered. subword-nmt's own cache has no bound, and is emptied and replaced.
    """

    def __init__(self, bpe: "BPE") -> None:
        bpe.cache = _Nothing()
        self._bpe = bpe
        self._remembered = functools.lru_cache(CACHED_WORDS)(self._split)

    def __call__(self, line: str) -> str:
        """Return the line in pieces; what stands before its first word and after its last stays."""
        text = line.strip("\r\n ")
        if not text:
            return line
        before, _, after = line.partition(text)
        words = [self._pieces(word) for word in text.split(" ") if word]
        return f"{before}{' '.join(words)}{after}"

    def _pieces(self, word: str) -> str:
        return self._split(word) if len(word) > LONGEST_CACHED else self._remembered(word)

    def _split(self, word: str) -> str:
        return " ".join(self._bpe.segment_tokens([word]))


class _Nothing(dict[str, tuple[str, ...]]):
    """In place of subword-nmt's cache."""

    def __setitem__(self, word: str, pieces: tuple[str, ...]) -> None:
        pass
