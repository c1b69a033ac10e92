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
from fairseq_rope_data.files import BOM, decode, refuse_page

CHUNK = 1 << 20


def joined(paths: Iterable[Path]) -> Iterator[bytes]:
    """Yield the bytes of several text files as those of one.

    Raises:
        UserError: a file cannot be read, is not UTF-8, which names its line, or has no text.
    """
    for path in paths:
        last = b""
        for last in _checked(path):
            yield last
        if not last.endswith(b"\n"):
            yield b"\n"


def lines_of(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the lines of a file that is given in chunks, without their ends."""
    begun: list[bytes] = []  # of a line that goes on
    for chunk in chunks:
        end, *others = chunk.split(b"\n")
        begun.append(end)
        if others:
            yield b"".join(begun)
            yield from others[:-1]
            begun = [others[-1]]
    if rest := b"".join(begun):
        yield rest


def _open(path: Path) -> AbstractContextManager[Readable]:
    if not path.exists() and not Path(f"{path}.gz").exists():
        raise UserError(f"{path}: {why_no_file(path)}")
    return unpacked(path) if path.suffix == ".gz" else manifest.plain(path)


def _checked(path: Path) -> Iterator[bytes]:
    """Yield the chunks of a file, less a byte order mark; each is whole characters only where it is decoded here."""
    decoder, has_text = codecs.getincrementaldecoder("utf-8")(), False
    with _open(path) as file:
        chunk = file.read(CHUNK).removeprefix(BOM)
        refuse_page(chunk, str(path))
        while chunk:
            try:
                has_text = bool(decoder.decode(chunk).strip()) or has_text
            except UnicodeDecodeError:
                _name_line(path)
            yield chunk
            chunk = file.read(CHUNK)
    try:
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        _name_line(path)
    if not has_text:
        raise UserError(f"{path} has no text")


def _name_line(path: Path) -> None:
    """Find the line that is not UTF-8, and raise what names it."""
    with _open(path) as file:
        for number, line in enumerate(lines_of(iter(lambda: file.read(CHUNK), b"")), 1):
            decode(line, str(path), number)


def main() -> None:
    parser = cli.parser(__doc__, "join_text")
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE")
    for chunk in joined(parser.parse_args().files):
        sys.stdout.buffer.write(chunk)


if __name__ == "__main__":
    run("join_text", main)
