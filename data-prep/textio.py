"""Text files of any size: UTF-8 read line by line, outputs that are complete or not there, errors of one line.

Not `fairseq_rope.tools._common`, which is like it: importing the package loads torch, three seconds and 300 MB for each
of the twenty programs that a recipe starts.
"""

import contextlib
import errno
import os
import sys
from collections.abc import Callable, Iterator
from io import BufferedReader
from pathlib import Path

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)  # no more space, or no more is allowed


class DataError(ValueError):
    """A bad input, told to the user as one line that names the option or the file and line, the rule and the value."""


def run(name: str, main: Callable[[], None]) -> None:
    """Run a program's `main`; a bad input becomes one line on stderr and exit status 1, without a traceback.

    A reader of stdout that has enough, such as `head`, is no error: the status is 141, as it is for other programs.
    """
    closed = _open_closed_streams()
    try:
        try:
            main()
        finally:
            _flush_stdout()
    except BrokenPipeError:
        sys.exit(141)
    except (DataError, OSError) as error:
        text = _stream_problem(error, closed) or str(error)
        sys.exit(f"{name}: error: {text}".replace("\n", "\\n"))  # a path may hold line ends
    except KeyboardInterrupt:
        sys.exit(130)


def _open_closed_streams() -> list[str]:
    """Give a closed standard stream a descriptor, or the next file would take its number, and what is printed.

    To read from stdin and to write to stdout are errors then; who closed stderr wants no messages.

    Returns: the names of those that were closed.
    """
    closed = [name for name in ("stdin", "stdout", "stderr") if getattr(sys, name) is None]
    for name in closed:
        descriptor = os.open(os.devnull, os.O_RDONLY if name == "stdout" else os.O_WRONLY)
        mode = "r" if name == "stdin" else "w"
        setattr(sys, name, os.fdopen(descriptor, mode, encoding="utf-8", errors="backslashreplace"))
    return closed


def _stream_problem(error: Exception, closed: list[str]) -> str:
    """Say which standard stream failed; errors that name no file are of those. Empty for others."""
    if not isinstance(error, OSError) or error.filename is not None:
        return ""
    if error.errno == errno.EBADF and closed:
        return f"{' and '.join(closed)} closed"
    return f"stdout cannot be written: {error.strerror}" if error.errno in FULL else ""


def _flush_stdout() -> None:
    try:
        sys.stdout.flush()
    except OSError:
        # or Python writes what stdout still holds once more, complains once more, and takes another status
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise


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


def _target(path: Path) -> Path:
    """Give the file that is to be written, which is not `path` where that is a link."""
    file = Path(os.path.realpath(path))
    if file.is_symlink():
        raise DataError(f"cannot write {path}: it is a link to itself")
    if file.exists() and not file.is_file():
        raise DataError(f"cannot write {path}: it is a {'folder' if file.is_dir() else 'device'}")
    if not file.parent.is_dir():
        raise DataError(f"cannot write {path}: there is no folder {file.parent}")
    return file


@contextlib.contextmanager
def complete_files(*paths: Path) -> Iterator[list[Path]]:
    """Give a temporary path for each of `paths`; renamed in this order when the block ends well, else removed.

    The last one is a sign: where it is, all are complete. What a kill leaves is overwritten by the next run. Where a
    path is a link the file that it points to is written, and the link stays.

    Raises:
        DataError: one of `paths` is a folder, a device or a link to itself, or its folder does not exist.
    """
    files = [_target(path) for path in paths]
    parts = [file.with_name(f"{file.name}.part") for file in files]
    try:
        yield parts
        files[-1].unlink(missing_ok=True)  # or an older one would be a sign already between two renames
        for part, file in zip(parts, files, strict=True):
            part.replace(file)
    finally:
        for part in parts:
            part.unlink(missing_ok=True)
