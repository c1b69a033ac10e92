"""Where the lines of windows stand, and the way back from a window's text to its lines.

A window is a few neighboring lines of a text as one line, with a separator between them. An index, PREFIX.windows.tsv,
has a row for each window, in the order of the windows: the number of its first line, from 1, and how many lines it has.
Its first row names the separator, its last one the number of lines of the text, those in no window too.
"""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from fairseq_rope_data.errors import UserError
from fairseq_rope_data.files import read_lines

SEPARATOR = "<sep>"
_SPECIAL = ("<s>", "<pad>", "</s>", "<unk>")
_BPE_MARKERS = ("@@", "\u2581")


class Window(NamedTuple):
    """Neighboring lines: the number of the first, from 1, and how many."""

    first: int
    lines: int


class WindowIndex(NamedTuple):
    """The windows of a text of `lines` lines; each line stands in one window at most."""

    separator: str
    windows: list[Window]
    lines: int


class Split(NamedTuple):
    """The lines of a window's text, and how many it had before they were made as many as the window has."""

    lines: list[str]
    found: int


def check_separator(separator: str, option: str) -> None:
    """Check that a separator can be one token of a dictionary, with nothing of BPE in it.

    Raises:
        UserError: it cannot; the text names `option`.
    """
    is_token = separator.isprintable() and len(separator.split()) == 1 and separator == separator.strip()
    if not is_token or separator in _SPECIAL or any(mark in separator for mark in _BPE_MARKERS):
        raise UserError(
            f"{option} must be a token without white space, none of {', '.join(_SPECIAL)} and without "
            f"{' and '.join(_BPE_MARKERS)}, the marks of BPE, but is {separator!r}"
        )


def holds(line: str, separator: str) -> bool:
    """Return whether a line holds the separator, or would with its pieces or words joined."""
    return separator in line.replace("@@ ", "").replace(" ", "")


def join(lines: Iterable[str], separator: str) -> str:
    """Return a window's text; white space around its lines is not kept."""
    return f" {separator} ".join(line.strip() for line in lines)


def parts(text: str, separator: str) -> list[str]:
    """Return the lines that a window's text holds, as many as there are, without white space around them."""
    # not at white space: where sentencepiece's pieces are joined the separator is part of a word
    return [line.strip() for line in text.split(separator)]


def split(text: str, separator: str, lines: int) -> Split:
    """Return the lines of a window's text; those missing are empty, and those too many are joined to the last."""
    found = parts(text, separator)
    kept = [*found[: lines - 1], " ".join(filter(None, found[lines - 1 :]))]
    return Split(kept + [""] * (lines - len(kept)), len(found))


def read_index(path: Path) -> WindowIndex:
    """Read an index.

    Raises:
        UserError: it cannot be read or is damaged; or a line stands in two windows, which cannot be split again.
    """
    rows = [line.split("\t") for line in read_lines(path)]
    if len(rows) < 2 or rows[0][0] != "separator" or rows[-1][0] != "lines" or {len(row) for row in rows} != {2}:
        raise UserError(f"{path} is no whole index of windows, as fairseq_rope_data.windows writes it")
    check_separator(rows[0][1], f"{path}:1: the separator")
    # 0 is none, and more lines than have nine digits would fill the memory
    numbers = [[int(text) if re.fullmatch("[0-9]{1,9}", text) else 0 for text in row] for row in rows[1:]]
    windows, total, end = [Window(*row) for row in numbers[:-1]], numbers[-1][1], 0
    for number, window in enumerate(windows, 2):
        if min(window) < 1 or window.first + window.lines - 1 > total:
            raise UserError(f"{path}:{number}: must be a line's number and how many, of {total:,}, but is {window}")
        if window.first <= end:
            raise UserError(f"{path}:{number}: line {window.first:,} is in an earlier window too: made with --singles?")
        end = window.first + window.lines - 1
    return WindowIndex(rows[0][1], windows, total)
