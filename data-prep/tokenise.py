"""Tokenise raw text with Moses rules, line by line, from stdin to stdout, on all cores.

The tokeniser is fairseq's `--tokenizer moses` with its options and defaults (dashes split, characters escaped), so that
training text and what fairseq-interactive or tools.translate make of new text are the same. One line comes out
for each that goes in.

    python data-prep/tokenise.py --lang de <train.de >train.tok.de
"""

import argparse
import functools
import multiprocessing
import os
import sys
from collections.abc import Iterator

from fairseq.data.encoders.moses_tokenizer import MosesTokenizer, MosesTokenizerConfig

LINES_A_TASK = 500


def tokenise(line: str, *, tokenizer: MosesTokenizer, lowercase: bool) -> str:
    """Tokenise one line; what Unicode or Python calls a line break inside it becomes a space."""
    line = " ".join(line.split())
    return tokenizer.encode(line.lower() if lowercase else line)


def decoded(lines: Iterator[bytes]) -> Iterator[str]:
    """Decode lines, split at newlines only: other tools count them so.

    Raises:
        ValueError: a line is not UTF-8; the text gives its number.
    """
    for number, line in enumerate(lines, 1):
        try:
            yield line.decode("utf-8")
        except UnicodeDecodeError as error:
            raise ValueError(f"line {number} is not UTF-8: {error.reason} {line[error.start : error.end]!r}") from None


def main() -> None:
    """Read the options, then stdin."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lang", required=True, help="language of the text, as en or de")
    parser.add_argument("--lowercase", action="store_true", help="lower-case first")
    parser.add_argument(
        "--moses-no-dash-splits", action="store_true", help="keep schwarz-weiß one token, as the papers do"
    )
    parser.add_argument("--moses-no-escape", action="store_true", help="keep ' and others, which default to &apos; ...")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes (default: all cores)")
    options = parser.parse_args()
    settings = MosesTokenizerConfig(
        source_lang=options.lang,
        target_lang=options.lang,
        moses_no_dash_splits=options.moses_no_dash_splits,
        moses_no_escape=options.moses_no_escape,
    )
    function = functools.partial(tokenise, tokenizer=MosesTokenizer(settings), lowercase=options.lowercase)
    with multiprocessing.Pool(options.jobs) as pool:
        for line in pool.imap(function, decoded(sys.stdin.buffer), chunksize=LINES_A_TASK):
            sys.stdout.buffer.write(f"{line}\n".encode())


if __name__ == "__main__":
    try:
        main()
    except ValueError as error:
        sys.exit(f"tokenise.py: error: {error}")
