"""Print what a gzip file holds, unless it is far more than text can shrink to its size.

python -m fairseq_rope_data.gunzip FILE
"""

import gzip
import shutil
import sys
import zlib
from pathlib import Path
from typing import IO

from fairseq_rope_data import cli
from fairseq_rope_data.errors import UserError, run
from fairseq_rope_data.files import open_text

# refused above both: text shrinks to a third, or to a tenth where it repeats itself
ALWAYS_ALLOWED = 1 << 26
RATIO = 100


class Unpacked:
    """The bytes that a gzip file holds, `file`, which end with an error where they are too many."""

    def __init__(self, path: Path, file: IO[bytes]):
        self.path, self.file = path, file
        self.limit = self.left = max(ALWAYS_ALLOWED, RATIO * path.stat().st_size)

    def read(self, size: int) -> bytes:
        """Read up to `size` bytes.

        Raises:
            UserError: they are more than the limit leaves.
        """
        data = self.file.read(min(size, self.left + 1))
        self.left -= len(data)
        if self.left < 0:
            raise UserError(f"{self.path} is not unpacked: it holds more than {RATIO} times its size")
        return data


def description(path: Path) -> str:
    """Say what a file is instead of a whole gzip file."""
    with path.open("rb") as file:
        head = file.read(500)
    if any(mark in head.lower() for mark in (b"<html", b"<!doctype")):
        kind = "an HTML page of"
    else:
        kind = "truncated or corrupt," if head.startswith(b"\x1f\x8b") else "not gzip,"
    return f"{kind} {path.stat().st_size} bytes"


def main() -> None:
    """Read the option, then the file."""
    parser = cli.parser(__doc__, "gunzip")
    parser.add_argument("file", type=Path, metavar="FILE")
    path = parser.parse_args().file
    try:
        with open_text(path) as packed, gzip.open(packed) as file:
            whole = Unpacked(path, file)
            while whole.read(1 << 20):  # to the end first, or the start of a bad file would be on the disk
                pass
            file.seek(0)
            shutil.copyfileobj(file, sys.stdout.buffer)
    except (EOFError, zlib.error, gzip.BadGzipFile):
        raise UserError(f"{path} is not a whole gzip file: {description(path)}; remove it and run again") from None


if __name__ == "__main__":
    run("gunzip", main)
