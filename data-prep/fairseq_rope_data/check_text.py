"""Check running text before hours are spent on it: it is there, UTF-8, not empty, and no text is another one again.

It prints the number of lines with text of each file.

    python -m fairseq_rope_data.check_text raw/train.en raw/valid.en
"""

import hashlib
from pathlib import Path

from fairseq_rope_data import cli
from fairseq_rope_data.errors import UserError, run
from fairseq_rope_data.files import read_lines


def check(path: Path) -> tuple[int, bytes]:
    """Check a file; return its number of lines with text, and what tells its lines from those of another file.

    Raises:
        UserError: it cannot be read, a line is not UTF-8, or it has no text.
    """
    digest, count = hashlib.sha256(), 0
    for line in read_lines(path):
        digest.update(f"{line}\n".encode())
        count += bool(line.strip())
    if not count:
        raise UserError(f"{path} has no text")
    return count, digest.digest()


def main() -> None:
    parser = cli.parser(__doc__, "check_text")
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE", help="text, a paragraph or a sentence a line")
    seen: dict[bytes, Path] = {}
    for path in parser.parse_args().files:
        count, digest = check(path)
        if digest in seen:
            raise UserError(f"{seen[digest]} and {path} are the same text")
        seen[digest] = path
        print(f"{path}: {count:,} lines")


if __name__ == "__main__":
    run("check_text", main)
