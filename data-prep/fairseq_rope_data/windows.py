"""Make windows of several sentences from text in order, a separator between them, or split them into lines again.

    python -m fairseq_rope_data.windows make --source-lang en --target-lang de --size 3 text/train.bpe text/train
    python -m fairseq_rope_data.windows make --source-lang en --target-lang de --size 4 text/test text/test-w4
    python -m fairseq_rope_data.windows split --index text/test-w4.windows.tsv hyps.txt >hyps-lines.txt
    python -m fairseq_rope_data.windows check --source-lang en --target-lang de raw/train

`make` reads IN.LANG and writes OUT.LANG, a window a line, and OUT.windows.tsv, which says where each window's lines
stand. A window is --size lines; with --random it is 1 to --size of them, all equally likely, as --seed has it. No line
is in two windows; with --singles each line is also, after all windows, a line of its own. A window never crosses a line
that is blank on all sides, which is in no window, nor the end of a document: --documents FILE has a line for each line,
the name of its document, as `sacrebleu --echo docid` prints it. Where a document ends its last window is shorter.

Windows are made of text in BPE, after clean_corpus --leave-blank: so sentences are segmented as without windows, and
the separator, <sep> unless --separator names another token, is one token of fairseq's dictionary.

Lines that are no neighbors make no windows. `make` refuses text of which clean_corpus has dropped lines, and text of
100 lines or more whose neighbors share no more rare words than lines at random, at its beginning, in the middle or at
its end: --any-order makes windows of it. `check` says so of raw text, before hours are spent on it, and whether it
holds the separator.

`split` writes one line for each line of IN. Of a translation with another number of sentences than its window has lines
the missing ones are blank and those too many are joined to the last; stderr tells how many windows are so.
"""

import argparse
import contextlib
import itertools
import random
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from fairseq_rope_data import cli
from fairseq_rope_data.errors import UserError, run
from fairseq_rope_data.files import check_apart, complete_files, read_lines
from fairseq_rope_data.line_neighbors import check_order
from fairseq_rope_data.parallel import aligned
from fairseq_rope_data.window_index import SEPARATOR, Window, check_separator, holds, join, read_index, split

Row = tuple[str, ...]  # a line of each side


def rows(sides: Sequence[Path], documents: Path | None, separator: str) -> Iterator[tuple[Row, str]]:
    """Yield the lines of each side with the name of their document, or ""; lines that are blank on all sides are empty.

    Raises:
        UserError: see `aligned`; a line holds the separator, or is blank on one side only.
    """
    for number, lines in enumerate(aligned(*sides, *([documents] if documents else [])), 1):
        row = lines[: len(sides)]
        for path, line in zip(sides, row, strict=True):
            refuse_separator(path, number, line, separator)
        blank = [not line.strip() for line in row]
        if any(blank) and not all(blank):
            raise UserError(
                f"{sides[blank.index(True)]}:{number}: is blank, but {sides[blank.index(False)]}:{number} is not: "
                "clean_corpus --leave-blank leaves out both"
            )
        yield row if not any(blank) else (), lines[-1] if documents else ""


def windows(lines: Iterator[tuple[Row, str]], sizes: Iterator[int]) -> Iterator[tuple[Window, list[Row]]]:
    """Yield windows of neighboring lines of one document, of the sizes that are drawn, or less where it ends."""
    current: list[Row] = []
    size, name, number = next(sizes), "", 0
    for number, (row, document) in enumerate(lines, 1):
        if current and (not row or document != name):
            yield Window(number - len(current), len(current)), current
            current, size = [], next(sizes)
        if row:
            current.append(row)
            name = document
        if len(current) == size:
            yield Window(number + 1 - len(current), len(current)), current
            current, size = [], next(sizes)
    if current:
        yield Window(number + 1 - len(current), len(current)), current


def window_sizes(options: argparse.Namespace) -> Iterator[int]:
    """Yield the sizes of windows: all the same, or drawn evenly; with --singles those of one line are left out."""
    if not options.random:
        yield from itertools.repeat(options.size)
    dice, least = random.Random(options.seed), 2 if options.singles else 1
    while True:
        yield least + int(dice.random() * (options.size + 1 - least))


def refuse_separator(path: Path, number: int, line: str, separator: str) -> None:
    """Check that a line does not hold the separator.

    Raises:
        UserError: it does.
    """
    if holds(line, separator):
        raise UserError(f"{path}:{number}: the text holds the separator {separator}: choose another --separator")


def check(options: argparse.Namespace) -> None:
    """Check text from which windows are to be made, before it is segmented.

    Raises:
        UserError: it holds the separator, or its order is lost.
    """
    check_separator(options.separator, "--separator")
    sides = [Path(f"{options.input}.{lang}") for lang in (options.source_lang, options.target_lang) if lang]
    for side in sides:
        for number, line in enumerate(read_lines(side), 1):
            refuse_separator(side, number, line, options.separator)
    if not options.any_order:
        check_order(options.input, sides[0])


def make(options: argparse.Namespace) -> None:
    """Write the windows.

    Raises:
        UserError: an option breaks its rule, the order is lost, or see `rows`.
    """
    least = 2 if options.singles else 1
    if options.size < least:
        raise UserError(f"--size must be at least {least}, but is {options.size}")
    check_separator(options.separator, "--separator")
    langs = [lang for lang in (options.source_lang, options.target_lang) if lang]
    sides = [Path(f"{options.input}.{lang}") for lang in langs]
    outputs = [Path(f"{options.output}.{name}") for name in (*langs, "windows.tsv")]
    if len(set(langs)) < len(langs):
        raise UserError(f"--source-lang and --target-lang must differ, but are both {options.source_lang}")
    check_apart(outputs, [*sides, *([options.documents] if options.documents else [])])
    if not options.any_order:
        check_order(options.input, sides[0])
    with complete_files(*outputs) as parts:
        found = write(options, sides, parts)
    sizes = ", ".join(f"{count:,} of {size}" for size, count in sorted(found.items()))
    print(f"{sum(size * count for size, count in found.items()):,} lines in windows: {sizes} lines")


def all_windows(options: argparse.Namespace, sides: list[Path]) -> Iterator[tuple[Window, list[Row]]]:
    """Yield all windows that the options ask for; for errors see `rows`."""
    sizes = window_sizes(options)
    if options.singles:
        found = windows(rows(sides, options.documents, options.separator), sizes)
        # what is left at the end of a document comes below
        yield from ((window, lines) for window, lines in found if window.lines > 1)
        sizes = itertools.repeat(1)
    yield from windows(rows(sides, options.documents, options.separator), sizes)


def write(options: argparse.Namespace, sides: list[Path], outputs: list[Path]) -> Counter[int]:
    """Write the windows of each side, and last their index; return the number of windows by their lines."""
    sizes: Counter[int] = Counter()
    with contextlib.ExitStack() as stack:
        *texts, index = (stack.enter_context(path.open("w", encoding="utf-8", newline="")) for path in outputs)
        print("separator", options.separator, sep="\t", file=index)
        for window, lines in all_windows(options, sides):
            sizes[window.lines] += 1
            for text, side in zip(texts, zip(*lines, strict=True), strict=True):
                print(join(side, options.separator), file=text)
            print(*window, sep="\t", file=index)
        if not sizes:
            raise UserError(f"{sides[0]} has no line for a window")
        print("lines", sum(1 for _ in read_lines(sides[0])), sep="\t", file=index)
    return sizes


def split_file(options: argparse.Namespace) -> None:
    """Write the lines of windows to stdout, and to stderr how many windows have another number of them.

    Raises:
        UserError: the index is damaged, or has another number of windows than the text.
    """
    index = read_index(options.index)
    lines, wrong, count = [""] * index.lines, [], 0
    for count, text in enumerate(read_lines(options.file), 1):
        if count > len(index.windows):
            raise UserError(
                f"{options.file}:{count}: there is no such window, but {len(index.windows):,} in {options.index}"
            )
        window = index.windows[count - 1]
        found = split(text, index.separator, window.lines)
        lines[window.first - 1 : window.first - 1 + window.lines] = found.lines
        if found.found != window.lines:
            wrong.append(f"{options.file}:{count} has {found.found} and not {window.lines}")
    if count < len(index.windows):
        raise UserError(f"{options.file} has {count:,} windows, but {options.index} {len(index.windows):,}")
    sys.stdout.buffer.write("".join(f"{line}\n" for line in lines).encode())
    if wrong:
        print(
            f"windows: {len(wrong):,} of {count:,} windows have another number of sentences, the first "
            f"{wrong[0]}: what is missing is blank, what is too much joined to the last",
            file=sys.stderr,
        )


def main() -> None:
    parser = cli.parser(__doc__, "windows")
    commands = parser.add_subparsers(required=True, metavar="make|split|check")
    maker = commands.add_parser("make", help="write OUT.LANG and OUT.windows.tsv from IN.LANG")
    checker = commands.add_parser("check", help="say whether windows can be made of IN.LANG, which is raw text")
    for command, function in ((maker, make), (checker, check)):
        command.set_defaults(command=function)
        add = command.add_argument
        add("input", metavar="IN", help="text to read: its files' path without .LANG")
        add("--source-lang", required=True, metavar="LANG")
        add("--target-lang", metavar="LANG", help="of the other side; without it there is one")
        add("--separator", default=SEPARATOR, metavar="TOKEN", help=f"between lines (default: {SEPARATOR})")
        add("--any-order", action="store_true", help="don't ask whether lines are still neighbors")
    add = maker.add_argument
    add("output", metavar="OUT", help="windows to write, likewise")
    add("--size", type=int, required=True, metavar="N", help="lines of a window")
    add("--random", action="store_true", help="1 to --size lines, for training")
    add("--seed", type=int, default=1, metavar="N", help="of --random (default: 1)")
    add("--singles", action="store_true", help="each line alone as well")
    add("--documents", type=Path, metavar="FILE", help="the name of each line's document, a line each")
    splitter = commands.add_parser("split", help="write the lines of FILE's windows to stdout")
    splitter.set_defaults(command=split_file)
    splitter.add_argument("file", type=Path, metavar="FILE", help="windows, a line each, such as their translations")
    splitter.add_argument("--index", type=Path, required=True, metavar="FILE", help="OUT.windows.tsv")
    options = parser.parse_args()
    options.command(options)


if __name__ == "__main__":
    run("windows", main)
