"""Parallel text: two files whose lines belong together."""

import argparse
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path
from typing import cast

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
    """Yield the pairs of lines of two files; see `aligned`."""
    return cast(Iterator[Pair], aligned(source, target))


def aligned(*files: Path) -> Iterator[tuple[str, ...]]:
    """Yield the lines of files that stand beside each other, read as they are needed.

    Raises:
        UserError: a file cannot be read or has fewer lines than another, or a line is not UTF-8.
    """
    for number, lines in enumerate(zip_longest(*map(read_lines, files)), 1):
        if None in lines:
            short = files[lines.index(None)]
            long = next(file for file, line in zip(files, lines, strict=True) if line is not None)
            raise UserError(
                f"{short}:{number}: there is no such line, but {long} has one: parallel files must be aligned"
            )
        yield lines
