"""Read text for scoring: plain or gzipped, UTF-8, one sentence a line."""

import gzip
import sys
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from fairseq_rope_data.errors import UserError, why_no_file
from fairseq_rope_data.files import decode

_GZIP_MAGIC = b"\x1f\x8b"


@dataclass(frozen=True)
class Text:
    """Sentences, and where each of them stands, for messages.

    Args:
        name: the file's, or what the lines are where there is no file.
        lines: one sentence each, without line ends.
        numbers: the line in the file of each sentence, counted from 1; empty where the sentences are all of its lines.
    """

    name: str
    lines: list[str]
    numbers: Sequence[int] = ()

    def location(self, index: int) -> str:
        """Return file and line of the sentence `index`, counted from 0."""
        return f"{self.name}:{self.numbers[index] if self.numbers else index + 1}"


def read_text(path: Path) -> Text:
    """Read a file, or stdin for `-`, as `read_lines` does, and keep its name."""
    return Text("stdin" if path == Path("-") else str(path), read_lines(path))


def read_lines(path: Path) -> list[str]:
    r"""Read all lines without their line ends; `-` is stdin; a gzip file is known by its first bytes.

    Only \n and \r\n end a line: str.splitlines would also cut at characters that a sentence may hold, such as
    U+2028, and shift all lines after it. A byte order mark is no text.

    Raises:
        UserError: no such file, empty, invalid UTF-8 (with its line), or a truncated gzip file.
    """
    name = "stdin" if path == Path("-") else str(path)
    if name != "stdin" and not path.is_file():
        raise UserError(f"cannot read {path}: {why_no_file(path)}")
    data = sys.stdin.buffer.read() if name == "stdin" else path.read_bytes()
    if data.startswith(_GZIP_MAGIC):
        try:
            data = gzip.decompress(data)
        except (EOFError, OSError, zlib.error) as error:
            raise UserError(f"cannot read {name}: its gzip data is truncated or corrupt ({error})") from error
    if not data:
        raise UserError(f"{name} is empty")
    lines = data.removesuffix(b"\n").split(b"\n")
    return [decode(line, name, number).removesuffix("\r") for number, line in enumerate(lines, start=1)]
