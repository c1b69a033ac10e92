"""Parallel text: two files whose lines belong together."""

import argparse
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path

from fairseq_rope_data.errors import UserError
from fairseq_rope_data.files import read_lines

Pair = tuple[str, str]


def add_languages(parser: argparse.ArgumentParser) -> None:
    """Add --source-lang and --target-lang."""
    parser.add_argument("--source-lang", required=True, metavar="LANG")
    parser.add_argument("--target-lang", required=True, metavar="LANG")


def languages(options: argparse.Namespace) -> tuple[str, str]:
    """Return what `add_languages` has read.

    Raises:
        UserError: both are the same.
    """
    if options.source_lang == options.target_lang:
        raise UserError(f"--source-lang and --target-lang must differ, but are both {options.source_lang}")
    return options.source_lang, options.target_lang


def pairs(source: Path, target: Path) -> Iterator[Pair]:
    """Yield the pairs of lines of two files, read as they are needed.

    Raises:
        UserError: a file cannot be read or has fewer lines than the other, or a line is not UTF-8.
    """
    for number, (one, other) in enumerate(zip_longest(read_lines(source), read_lines(target)), 1):
        if one is None or other is None:
            short, long = (source, target) if one is None else (target, source)
            raise UserError(
                f"{short}:{number}: there is no such line, but {long} has one: parallel files must be aligned"
            )
        yield one, other
