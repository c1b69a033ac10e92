"""Take the sentences out of a WMT test set in SGM, a line for each <seg>, or pass a file that is plain text already.

XML's entities, such as &amp;, become what they stand for, once, and white space is joined, so that the text is that of
the plain form: sacrebleu's 13a undoes entities, but a model, chrF and Moses don't. Dev sets come in both forms; plain
text passes as it is.

    python -m fairseq_rope_data.sgm --lines 3003 test-full/newstest2014-deen-ref.de.sgm >test.de
"""

import html
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from fairseq_rope_data import cli
from fairseq_rope_data.errors import UserError, run
from fairseq_rope_data.files import read_lines

_SGM = re.compile(r"\s*<(srcset|refset|tstset|mteval|\?xml|!DOCTYPE\s+(srcset|refset|tstset|mteval))\b", re.IGNORECASE)
# not html.unescape of the whole text, which takes R&copy and the like for entities too
_ENTITY = re.compile(r"&(?:amp|lt|gt|quot|apos|#[0-9]{1,7}|#x[0-9a-fA-F]{1,6});")
_SEGMENT = re.compile(r"\s*<seg\b[^>]*>(.*)</seg>\s*")


def is_sgm(lines: list[str]) -> bool:
    """Return whether text is SGM, by its first line that isn't empty."""
    return bool(_SGM.match(next((line for line in lines if line.strip()), "")))


def segments(lines: list[str], name: str) -> Iterator[str]:
    """Yield the text of each <seg>, entities undone; one that stands for white space ends no line.

    Raises:
        UserError: one isn't whole on a line of its own.
    """
    for number, line in enumerate(lines, 1):
        if "<seg" not in line:
            continue
        match = _SEGMENT.fullmatch(line)
        if match is None or "<seg" in match[1]:
            raise UserError(f"{name}:{number}: a <seg> must be whole on a line of its own, but is {line.strip()!r}")
        yield " ".join(_ENTITY.sub(lambda entity: html.unescape(entity[0]), match[1]).split())


def main() -> None:
    parser = cli.parser(__doc__, "sgm")
    parser.add_argument("file", type=Path, metavar="FILE")
    parser.add_argument("--lines", type=int, metavar="N", help="how many there must be")
    options = parser.parse_args()
    lines, what = list(read_lines(options.file)), "lines"
    if is_sgm(lines):
        lines, what = list(segments(lines, str(options.file))), "<seg>"
    if not lines:
        raise UserError(f"{options.file} has no {what}")
    if options.lines not in (None, len(lines)):
        raise UserError(f"{options.file} must have {options.lines:,} {what} (--lines), but has {len(lines):,}")
    sys.stdout.buffer.write("".join(f"{line}\n" for line in lines).encode())


if __name__ == "__main__":
    run("sgm", main)
