"""Print text without the documents that other files have, such as those of a task that a model is tested on later.

    fairseq-rope without judgments.txt.gz --documents train.json valid.json test.json >kept.txt

A line of the text is a document; lines without text are kept. A file of --documents has a document a line, or JSON
lines with the texts A, B and C (CAIL2019-SCM), by its first letter, {. Both may be gzipped (.gz). Two documents are the
same where their characters are, white space apart: the same judgment has line ends in one file and none in the other.
With other characters, or cut, it is another document. What is no text is an error that names file and line.

--facts prints no text, but what tells it from another, and how many lines were left out.
"""

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from fairseq_rope_data import cli
from fairseq_rope_data.errors import UserError, run
from fairseq_rope_data.fingerprint import described
from fairseq_rope_data.join_text import joined, lines_of
from fairseq_rope_data.manifest import facts_of
from fairseq_rope_data.scm import characters_of, read_cases


def documents(path: Path) -> Iterator[str]:
    """Yield the documents of a file.

    Raises:
        UserError: it cannot be read or has no text, or a line is not UTF-8 or no JSON among JSON lines, which is named.
    """
    found = [line for line in _lines([path]) if line.strip()]
    if not found[0].lstrip().startswith("{"):
        yield from found
        return
    for case in read_cases(path, labeled=False):
        yield from case.texts


class Without:
    """Text less some documents, and counts of it.

    Args:
        given: these documents.
    """

    def __init__(self, given: Iterable[str]) -> None:
        self.given = {characters_of(document) for document in given}
        self.found: set[str] = set()  # of those given
        self.lines = self.dropped = 0  # lines that have text

    def kept(self, paths: Iterable[Path]) -> Iterator[bytes]:
        """Yield the lines of text files that are none of the documents, each with its line end.

        Raises:
            UserError: a file is no text; the text names file and line.
        """
        for line in _lines(paths):
            form = characters_of(line)
            self.lines += bool(form)
            if form in self.given:
                self.dropped += 1
                self.found.add(form)
            else:
                yield f"{line}\n".encode()

    def check(self) -> None:
        """Check that something was kept, at the end of the text.

        Raises:
            UserError: nothing was.
        """
        if self.dropped == self.lines:
            raise UserError(f"nothing is left: all {self.lines} lines of the text are documents of --documents")

    def __str__(self) -> str:
        return f"without {self.dropped} of {self.lines} lines, {len(self.found)} of the {len(self.given)} documents"


def _lines(paths: Iterable[Path]) -> Iterator[str]:
    return (line.decode("utf-8") for line in lines_of(joined(paths)))


def main() -> None:
    parser = cli.parser(__doc__, "without")
    parser.add_argument("text", nargs="+", type=Path, metavar="FILE", help="a text, a document a line")
    parser.add_argument("--documents", nargs="+", required=True, type=Path, metavar="FILE", help="what to leave out")
    parser.add_argument("--facts", action="store_true", help="print lines, bytes, SHA-256 and counts instead")
    options = parser.parse_args()
    text = Without(document for path in options.documents for document in documents(path))
    if options.facts:
        print(f"{described(facts_of(text.kept(options.text)))}, ", end="")
        print(f"{text} in {described(facts_of(joined(options.documents)))}")
    else:
        for line in text.kept(options.text):
            sys.stdout.buffer.write(line)
    text.check()


if __name__ == "__main__":
    run("without", main)
