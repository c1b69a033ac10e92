"""Split tokenised text into BPE, line by line, on all cores: what `subword-nmt apply-bpe` gives, in bounded memory.

That command remembers every word type it meets, one more for each few lines, in each of its processes, and in
parallel it reads no pipe and leaves its parts in the folder for temporary files when it is killed.

    python -m fairseq_rope_data.apply_bpe --codes codes train.tok.de >train.bpe.de
"""

import argparse
import functools
import io
from pathlib import Path

from subword_nmt.apply_bpe import BPE

from fairseq_rope_data.errors import UserError, run
from fairseq_rope_data.files import read_lines
from fairseq_rope_data.workers import add_arguments, filter_file

# word types that each process remembers, most of a text's words with some 50 MB; what is seen least lately goes
CACHED_WORDS = 1 << 17


class _Nothing(dict[str, tuple[str, ...]]):
    """In place of subword-nmt's own cache, which has no bound."""

    def __setitem__(self, word: str, pieces: tuple[str, ...]) -> None:
        pass


class CachedBPE(BPE):
    """subword-nmt's BPE, which splits each word once while it is remembered."""

    def __init__(self, codes: list[str]) -> None:
        super().__init__(io.StringIO("\n".join(codes)))
        self.cache = _Nothing()
        self._split = functools.lru_cache(CACHED_WORDS)(self._split_word)

    def segment(self, sentence: str, dropout: float = 0) -> str:
        """Split the words of a sentence (subword-nmt 0.3.8); BPE dropout would be remembered, so there is none."""
        return " ".join([self._split(word) for word in sentence.strip("\r\n ").split(" ") if word])

    def _split_word(self, word: str) -> str:
        return " ".join(self.segment_tokens([word]))


def read_codes(path: Path) -> list[str]:
    """Read a file of codes, and check what subword-nmt would end the program for, with a message that names no file.

    Raises:
        UserError: the file cannot be read, a line isn't two symbols, or there is no line beside the version.
    """
    codes = list(read_lines(path))
    for number, line in enumerate(codes, 1):
        if len(line.strip("\r ").split(" ")) != 2:
            raise UserError(f"{path}:{number}: a line of BPE codes must be two symbols, but is {line!r}")
    if all(line.startswith("#version:") for line in codes):
        raise UserError(f"{path} holds no BPE codes")
    return codes


def main() -> None:
    """Read the options, then the text."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--codes", type=Path, required=True, metavar="FILE", help="what learn_bpe or subword-nmt wrote")
    add_arguments(parser)
    options = parser.parse_args()
    filter_file(CachedBPE(read_codes(options.codes)).process_line, options)


if __name__ == "__main__":
    run("apply_bpe", main)
