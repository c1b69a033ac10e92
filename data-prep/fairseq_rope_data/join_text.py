"""Print text files as one text, in their order, each ended by a line end; UTF-8, plain or gzipped.

    python -m fairseq_rope_data.join_text news.txt wiki.txt.gz >all.txt

reads wiki.txt.gz unpacked, and news.txt.gz where there is no news.txt. A byte order mark at a file's beginning is left
out. What is no text is an error that names file and line.
"""

import codecs
import sys
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

from fairseq_rope_data import cli, manifest
from fairseq_rope_data.archives import Readable, unpacked
from fairseq_rope_data.errors import UserError, run, why_no_file
from fairseq_rope_data.files import BOM, decode

CHUNK = 1 << 20


def joined(paths: Iterable[Path]) -> Iterator[bytes]:
    """Yield the bytes of several text files as those of one.

    Raises:
        UserError: a file cannot be read, is not UTF-8, which names its line, or has no text.
    """
    for path in paths:
        last, has_text = b"", False
        for chunk in _checked(path):
            last, has_text = chunk, has_text or bool(chunk.strip())
            yield chunk
        if not has_text:
            raise UserError(f"{path} has no text")
        if not last.endswith(b"\n"):
            yield b"\n"


def _open(path: Path) -> AbstractContextManager[Readable]:
    if not path.exists() and not path.with_name(f"{path.name}.gz").exists():
        raise UserError(f"{path}: {why_no_file(path)}")
    return unpacked(path) if path.suffix == ".gz" else manifest.plain(path)


def _checked(path: Path) -> Iterator[bytes]:
    """Yield the chunks of a file, less a byte order mark; each is whole characters only where it is decoded here."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    with _open(path) as file:
        chunk = file.read(CHUNK).removeprefix(BOM)
        while chunk:
            try:
                decoder.decode(chunk)
            except UnicodeDecodeError:
                _name_line(path)
            yield chunk
            chunk = file.read(CHUNK)
    try:
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        _name_line(path)


def _name_line(path: Path) -> None:
    """Find the line that is not UTF-8, and raise what names it."""
    for number, line in enumerate(_lines(path), 1):
        decode(line, str(path), number)


def _lines(path: Path) -> Iterator[bytes]:
    rest = b""
    with _open(path) as file:
        while chunk := file.read(CHUNK):
            *lines, rest = (rest + chunk).split(b"\n")
            yield from lines
    yield rest


def main() -> None:
    parser = cli.parser(__doc__, "join_text")
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE")
    for chunk in joined(parser.parse_args().files):
        sys.stdout.buffer.write(chunk)


if __name__ == "__main__":
    run("join_text", main)
