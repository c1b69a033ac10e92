"""Text files of any size: UTF-8 read line by line, outputs that are complete or not there, errors of one line.

Not `fairseq_rope.tools._common`, which is like it: importing the package loads torch, three seconds and 300 MB for each
of the twenty programs that a recipe starts.
"""

import contextlib
import os
import sys
from collections.abc import Callable, Iterator
from io import BufferedReader
from pathlib import Path


class DataError(ValueError):
    """A bad input, told to the user as one line that names the option or the file and line, the rule and the value."""


def run(name: str, main: Callable[[], None]) -> None:
    """Run a program's `main`; a bad input becomes one line on stderr and exit status 1, without a traceback."""
    try:
        try:
            main()
        finally:
            sys.stdout.flush()
    except DataError as error:
        sys.exit(f"{name}: error: {error}")
    except OSError as error:
        # or Python writes what stdout still holds once more, complains once more, and takes another status
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        # a reader that has enough, such as `head`, is no error: the status is the one that it gives to other programs
        sys.exit(141 if isinstance(error, BrokenPipeError) else f"{name}: error: {error}")
    except KeyboardInterrupt:
        sys.exit(130)


def decode(line: bytes, name: str, number: int) -> str:
    r"""Decode a line and take off its \n, and before the first one a byte order mark.

    Args:
        line: one line of the file `name`.
        number: of the line, from 1.

    Raises:
        DataError: it is not UTF-8; the text names file, line and byte.
    """
    try:
        text = line.removesuffix(b"\n").decode("utf-8")
    except UnicodeDecodeError as error:
        byte = line[error.start]
        raise DataError(f"{name}:{number}: not valid UTF-8, byte {error.start + 1} is 0x{byte:02x}") from None
    return text.removeprefix("\ufeff") if number == 1 else text


def open_text(path: Path) -> BufferedReader:
    """Open a file or pipe for reading bytes.

    Raises:
        DataError: it cannot be opened.
    """
    try:
        return path.open("rb")
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror}") from None


def read_lines(path: Path) -> Iterator[str]:
    r"""Yield the lines of a file, which end at \n only: other tools count them so.

    Raises:
        DataError: the file cannot be opened, is a page that a server sent instead, or a line is not UTF-8.
    """
    with open_text(path) as file:
        head = file.peek(1024).lstrip(b"\xef\xbb\xbf \t\r\n").lower()
        if head.startswith((b"<!doctype html", b"<html")):
            raise DataError(f"{path} is an HTML page, such as a server's error message, and not text")
        for number, line in enumerate(file, 1):
            yield decode(line, str(path), number)


@contextlib.contextmanager
def complete_files(*paths: Path) -> Iterator[list[Path]]:
    """Give a temporary path beside each of `paths`; renamed in this order when the block ends well, else removed.

    The last one is a sign: where it is, all are complete. What a kill leaves is overwritten by the next run.

    Raises:
        DataError: one of `paths` is a folder, or its folder does not exist.
    """
    for path in paths:
        if path.is_dir():
            raise DataError(f"cannot write {path}: it is a folder")
        if not path.parent.is_dir():
            raise DataError(f"cannot write {path}: there is no folder {path.parent}")
    parts = [path.with_name(f"{path.name}.part") for path in paths]
    try:
        yield parts
        paths[-1].unlink(missing_ok=True)  # or an older one would be a sign already between two renames
        for part, path in zip(parts, paths, strict=True):
            part.replace(path)
    finally:
        for part in parts:
            part.unlink(missing_ok=True)
