"""Print what a gzip file holds, unless it is far more than text can shrink to its size.

python -m fairseq_rope_data.gunzip FILE
"""

import gzip
import shutil
import sys
import zlib
from pathlib import Path

from fairseq_rope_data import cli
from fairseq_rope_data.archives import Unpacked, description
from fairseq_rope_data.errors import UserError, run
from fairseq_rope_data.files import open_text


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
