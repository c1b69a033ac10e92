"""Chinese text in characters or words."""

from collections.abc import Callable, Iterable

import regex

from fairseq_rope_data.errors import UserError

# a Latin word with its accents, a number, or one character
_CHARACTERS = regex.compile(r"[\p{Latin}\p{M}]+|\p{Nd}+|\S")
_WORD = regex.compile(r"\p{Han}{2,}")

Splitter = Callable[[str], list[str]]


def characters(line: str) -> list[str]:
    """Return the characters of a line; Latin words and numbers stay whole, white space separates."""
    return [str(token) for token in _CHARACTERS.findall(line)]


def word_splitter() -> Splitter:
    """Return the function from a line to its words by jieba's dictionary, without its guesses at words that it lacks.

    WoBERT and RoFormer are trained on such words (ZhuiyiTechnology/roformer, train.py: HMM=False).

    Raises:
        UserError: rjieba is not installed.
    """
    try:
        import rjieba
    except ImportError:
        raise UserError("to split Chinese into words needs rjieba: pip install 'fairseq-rope[data]'") from None

    def words(line: str) -> list[str]:
        return [word for word in rjieba.cut(line, False) if not word.isspace()]

    return words


def has_words(vocabulary: Iterable[str]) -> bool:
    """Return whether a vocabulary has Chinese words, and not only characters."""
    return any(_WORD.fullmatch(piece) for piece in vocabulary)
