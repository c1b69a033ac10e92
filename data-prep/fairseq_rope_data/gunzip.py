"""Print what a gzip file holds, unless it is far more than text can shrink to its size.

python -m fairseq_rope_data.gunzip FILE
"""

import sys
from pathlib import Path

from fairseq_rope_data import cli
from fairseq_rope_data.archives import unpacked
from fairseq_rope_data.errors import run


def main() -> None:
    parser = cli.parser(__doc__, "gunzip")
    parser.add_argument("file", type=Path, metavar="FILE")
    path = parser.parse_args().file
    advice = "; remove it and run again"
    with unpacked(path, advice) as file:
        while file.read(1 << 20):  # to the end first, or the start of a bad file would be on the disk
            pass
    with unpacked(path, advice) as file:
        while chunk := file.read(1 << 20):
            sys.stdout.buffer.write(chunk)


if __name__ == "__main__":
    run("gunzip", main)
