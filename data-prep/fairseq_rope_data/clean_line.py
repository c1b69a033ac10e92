"""Make one raw line safe for tokenizers, dictionaries and line-by-line output, and say what had to change."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from fairseq_rope_data.files import BOM

# all that some program takes for a line's end, and all that shows nothing; a tab is ordinary white space
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f-\x9f\u2028\u2029]")
_SURROGATE = re.compile(r"[\ud800-\udfff]")
_REPLACEMENT = "\ufffd"


class CleanLine(NamedTuple):
    """A line without control characters or outer white space, and one sentence for each thing that was changed."""

    text: str
    notes: list[str]


def clean_line(raw: bytes | str, *, max_chars: int) -> CleanLine:
    r"""Decode a raw line and replace what could crash a later step or break the line in two.

    Args:
        raw: one line of UTF-8 or text; a final \n or \r\n is taken off in silence.
        max_chars: longer text is cut. It bounds the time for a line: BPE takes quadratic time in a word's length.

    Returns: the text, perhaps empty. An invalid byte sequence or a lone surrogate becomes U+FFFD, a control
        character (C0, C1, U+2028, U+2029) a space, and each is noted.
    """
    text, invalid = _decode(raw)
    text = text.removesuffix("\n").removesuffix("\r")
    text, controls = _CONTROL.subn(" ", text)
    text = text.strip()
    notes = []
    if invalid:
        notes.append(f"invalid UTF-8 replaced by U+FFFD: {invalid:,}")
    if controls:
        notes.append(f"control characters replaced by spaces: {controls:,}")
    if len(text) > max_chars:
        notes.append(f"cut from {len(text):,} to {max_chars:,} characters, before tokenization")
        text = text[:max_chars].rstrip()
    return CleanLine(text, notes)


def one_line(text: str) -> str:
    """Replace whatever could end a line inside `text`, so that it stays one line of output in any program."""
    return _CONTROL.sub(" ", text).strip()


def byte_lines(stream: Iterator[bytes]) -> Iterator[bytes]:
    r"""Yield the lines of a binary file, which end at \n only, without a byte order mark at its start."""
    for number, line in enumerate(stream):
        yield line.removeprefix(BOM) if number == 0 else line


def _decode(raw: bytes | str) -> tuple[str, int]:
    if isinstance(raw, str):
        return _SURROGATE.subn(_REPLACEMENT, raw)
    text = raw.decode("utf-8", errors="replace")
    # a U+FFFD that the line itself holds is valid
    return text, text.count(_REPLACEMENT) - raw.count(_REPLACEMENT.encode())
