"""Which words of two translations differ."""

from collections.abc import Sequence
from difflib import SequenceMatcher

Piece = tuple[str, bool]  # neighboring words, and whether they are not in the other translation


def marked(one: str, other: str) -> tuple[list[Piece], list[Piece]]:
    """Return two translations in pieces that are alike or differ."""
    ours, theirs = one.split(), other.split()
    # autojunk would take frequent words of long sentences out of the comparison
    blocks = SequenceMatcher(None, ours, theirs, autojunk=False).get_opcodes()
    return (
        _pieces(ours, [(start, end, tag != "equal") for tag, start, end, _, _ in blocks]),
        _pieces(theirs, [(start, end, tag != "equal") for tag, _, _, start, end in blocks]),
    )


def _pieces(words: Sequence[str], blocks: Sequence[tuple[int, int, bool]]) -> list[Piece]:
    return [(" ".join(words[start:end]), differs) for start, end, differs in blocks if start < end]
