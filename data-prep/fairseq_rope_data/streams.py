"""Standard streams that are closed, full, or left by their reader."""

import errno
import io
import os
import sys
from typing import TextIO

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)  # no more space, or no more is allowed


def open_closed_streams() -> list[str]:
    """Open a descriptor for each closed standard stream, or the next file would take its number, and what is printed.

    To read from stdin and to write to stdout are errors then; who closed stderr wants no messages.

    Returns: the names of those that were closed.
    """
    closed = [name for name in ("stdin", "stdout", "stderr") if getattr(sys, name) is None]
    for name in closed:
        descriptor = os.open(os.devnull, os.O_RDONLY if name == "stdout" else os.O_WRONLY)
        mode = "r" if name == "stdin" else "w"
        setattr(sys, name, os.fdopen(descriptor, mode, encoding="utf-8", errors="backslashreplace"))
    return closed


def buffer_stdout() -> None:
    """Give stdout the buffer that PYTHONUNBUFFERED, as images of containers set it, takes from it.

    Without one a write says how much of it there was space for, and nobody asks: output is cut off in silence where a
    disk fills up. Lines that are printed still come at once.
    """
    if isinstance(sys.stdout, io.TextIOWrapper):
        if isinstance(sys.stdout.buffer, io.RawIOBase):
            buffer = io.BufferedWriter(sys.stdout.buffer)
            sys.stdout = io.TextIOWrapper(buffer, encoding=sys.stdout.encoding, line_buffering=True)
        sys.stdout.reconfigure(errors="backslashreplace")  # a path may be no text, and a terminal without Unicode


def tell(text: str) -> None:
    """Print a line on stderr; that nobody takes it is no reason to end the work."""
    try:
        print(text, file=sys.stderr, flush=True)
    except OSError:
        _discard(sys.stderr)


def stream_problem(error: Exception, closed: list[str]) -> str:
    """Return which standard stream failed, "" if none did; errors that name no file are of those."""
    if not isinstance(error, OSError) or error.filename is not None:
        return ""
    if error.errno == errno.EBADF and closed:
        return f"{' and '.join(closed)} closed"
    return f"stdout cannot be written: {error.strerror}" if error.errno in FULL else ""


def flush_stdout() -> None:
    """Write what stdout still holds, or raise why not."""
    try:
        sys.stdout.flush()
    except OSError:
        _discard(sys.stdout)
        raise


def _discard(stream: TextIO) -> None:
    """Let what a stream still holds go nowhere, or Python complains once more at its end, and takes status 120."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
