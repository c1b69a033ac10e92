"""Chinese text to tokens: characters or words, a vocabulary of the frequent ones, and text in that vocabulary.

    python -m fairseq_rope_data.segment split --unit characters train.zh >train.tok.zh
    python -m fairseq_rope_data.segment learn --size 8000 train.tok.zh >vocabulary
    python -m fairseq_rope_data.segment apply --vocab vocabulary train.tok.zh >train.pieces.zh

Of characters, a Latin word and a number are one token; words are those of jieba's dictionary. White space separates and
is no token. One line comes out for each that goes in, in the same order.
The vocabulary has the most frequent tokens and characters. A token that it lacks becomes its characters, as in WoBERT,
and a character that it lacks becomes <unk>.
"""

import argparse
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path

from fairseq_rope_data import cli
from fairseq_rope_data.chinese import characters, word_splitter
from fairseq_rope_data.errors import UserError, run
from fairseq_rope_data.files import read_lines
from fairseq_rope_data.segmentation import segmenter
from fairseq_rope_data.workers import LineFunction, add_arguments, filter_file

UNKNOWN = "<unk>"
UNITS = ("characters", "words")


def count_units(lines: Iterable[str]) -> Counter[str]:
    """Count tokens, and characters wherever they stand: each is at least as frequent as the tokens that have it."""
    tokens = Counter(token for line in lines for token in line.split())
    units = Counter({token: count for token, count in tokens.items() if len(token) > 1})
    for token, count in tokens.items():
        for character in token:
            units[character] += count
    return units


def learn(options: argparse.Namespace) -> None:
    """Write the vocabulary to stdout, the most frequent first: a token and its count a line.

    Raises:
        UserError: a number breaks its rule, a file cannot be read or isn't UTF-8, or no token is frequent enough.
    """
    for name in ("size", "min_count"):
        if getattr(options, name) is not None and getattr(options, name) < 1:
            raise UserError(f"--{name.replace('_', '-')} must be at least 1, but is {getattr(options, name)}")
    counts = count_units(line for path in options.files for line in read_lines(path))
    # of equal counts the shorter first, so that the characters of each token are there
    ranked = sorted(counts.items(), key=lambda unit: (-unit[1], len(unit[0]), unit[0]))
    chosen = [(unit, count) for unit, count in ranked if count >= options.min_count][: options.size]
    if not chosen:
        named = ", ".join(map(str, options.files))
        raise UserError(f"{named}: no character occurs {options.min_count} times (--min-count)")
    sys.stdout.buffer.write("".join(f"{unit} {count}\n" for unit, count in chosen).encode())


def read_vocabulary(path: Path) -> frozenset[str]:
    """Return the tokens of a vocabulary.

    Raises:
        UserError: it cannot be read, or isn't what `learn` wrote.
    """
    found = set()
    for number, line in enumerate(read_lines(path), 1):
        token, _, count = line.partition(" ")
        if not token or not count.isdecimal() or token in found:
            raise UserError(f"--vocab {path}:{number}: must be a token and its count, but is {line[:40]!r}")
        found.add(token)
    if not found:
        raise UserError(f"--vocab {path} is empty")
    return frozenset(found)


def in_vocabulary(vocabulary: frozenset[str]) -> LineFunction:
    """Return the function from a line of tokens to that of tokens which the vocabulary has, and <unk>."""

    def known(line: str) -> str:
        pieces: list[str] = []
        for token in line.split():
            units = [token] if token in vocabulary else token
            pieces += (unit if unit in vocabulary else UNKNOWN for unit in units)
        return " ".join(pieces)

    return known


def _split(options: argparse.Namespace) -> None:
    units: Callable[[str], list[str]] = characters if options.unit == "characters" else word_splitter()
    filter_file(segmenter(lowercase=options.lowercase, tokenize=lambda line: " ".join(units(line))), options)


def _apply(options: argparse.Namespace) -> None:
    filter_file(in_vocabulary(read_vocabulary(options.vocab)), options)


def main() -> None:
    parser = cli.parser(__doc__, "segment")
    commands = parser.add_subparsers(required=True, metavar="split|learn|apply")
    splitter = commands.add_parser("split", help="write FILE in tokens to stdout")
    splitter.set_defaults(command=_split)
    splitter.add_argument("--unit", choices=UNITS, required=True, help="what a token is")
    splitter.add_argument("--lowercase", action="store_true", help="lower-case before")
    learner = commands.add_parser("learn", help="write the vocabulary of files in tokens to stdout")
    learner.set_defaults(command=learn)
    learner.add_argument("files", nargs="+", type=Path, metavar="FILE")
    learner.add_argument("--size", type=int, metavar="N", help="at most so many (default: no bound)")
    learner.add_argument("--min-count", type=int, default=2, metavar="N", help="the least frequent one (default: 2)")
    applier = commands.add_parser("apply", help="write FILE in tokens of the vocabulary to stdout")
    applier.set_defaults(command=_apply)
    applier.add_argument("--vocab", type=Path, required=True, metavar="FILE", help="what learn wrote")
    for command in (splitter, applier):
        add_arguments(command)
    options = parser.parse_args()
    options.command(options)


if __name__ == "__main__":
    run("segment", main)
