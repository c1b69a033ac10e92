"""Words to text and back to a count of tokens."""

import re
from collections.abc import Sequence

TOKEN = re.compile(r"\w+|[^\w\s]")


def spell(words: Sequence[str], end: str) -> str:
    """Write words as text: one comma where several meet, none before the end, a capital letter first."""
    text = ""
    for word in words:
        if word == ",":
            text = text.rstrip(",") + ","
        else:
            text += f" {word}" if text else word
    text = text.rstrip(",") + end
    return text[0].upper() + text[1:]


def tokens(text: str) -> list[str]:
    """Split text into words and punctuation marks."""
    return TOKEN.findall(text)
