"""What every tool shares: errors as one line, and outputs that are complete or not there."""

import contextlib
import io
import logging
import os
import shutil
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

from fairseq_rope.tools._streams import FULL, flush_stdout, open_closed_streams, stream_problem, tell


class ToolError(ValueError):
    """A bad input, told to the user as one line that names the option, file, line, rule and value."""


def run(name: str, main: Callable[[], None]) -> None:
    """Run a tool's `main`; a bad input becomes one line on stderr and exit status 1, without a traceback.

    A reader of stdout that has enough, such as `head`, is no error: the status is 141, as it is for other programs.
    """
    closed = open_closed_streams()
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a path may be no text, and a terminal without Unicode
    try:
        try:
            main()
        finally:
            flush_stdout()
    except BrokenPipeError:
        sys.exit(141)
    except (ToolError, OSError) as error:
        text = stream_problem(error, closed) or str(error)
        tell(f"{name}: error: {text}".replace("\n", "\\n"))  # a path may hold line ends
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)


def silence_libraries() -> None:
    """Keep stderr for what concerns the user's files; `python -W default` shows the libraries' own warnings again."""
    logging.getLogger().setLevel(logging.WARNING)  # a module of fairseq sets INFO on import
    if not sys.warnoptions:
        warnings.simplefilter("ignore", UserWarning)  # hydra's about its own future


@contextlib.contextmanager
def named_when_full(name: str) -> Iterator[None]:
    """Name the file in an error that only writing gives.

    Raises:
        ToolError: there is no more space, or no more is allowed.
    """
    try:
        yield
    except OSError as error:
        if error.errno in FULL:
            raise ToolError(f"cannot write {name}: {error.strerror}") from error
        raise


@contextlib.contextmanager
def complete_file(path: Path) -> Iterator[Path]:
    """Give a temporary path, renamed to `path` when the block ends well and removed when it does not.

    Where `path` is a link the file that it points to is written, and the link stays.

    Raises:
        ToolError: the folder of the file does not exist, or it is a folder, a device or a link to itself.
    """
    file = Path(os.path.realpath(path))
    named = f"{path}" if file == Path(os.path.abspath(path)) else f"{path}, which is {file}"
    if file.is_symlink():
        raise ToolError(f"cannot write {path}: it is a link to itself")
    if file.exists() and not file.is_file():
        raise ToolError(f"cannot write {named}: it is not a file")
    if not file.parent.is_dir():
        raise ToolError(f"cannot write {named}: there is no folder {file.parent}")
    part = file.with_name(f"{file.name}.part-{os.getpid()}")
    try:
        with named_when_full(named):
            yield part
        part.replace(file)
    finally:
        part.unlink(missing_ok=True)


@contextlib.contextmanager
def complete_folder(path: Path) -> Iterator[Path]:
    """Give a new folder beside `path`, renamed to it when the block ends well and removed when it does not.

    Raises:
        ToolError: something, be it a link, is at `path` already, or its parent does not exist.
    """
    if path.exists() or path.is_symlink():
        raise ToolError(f"{path} exists already; remove it or choose another name")
    if not path.parent.is_dir():
        raise ToolError(f"cannot write {path}: there is no folder {path.parent}")
    part = path.with_name(f"{path.name}.part-{os.getpid()}")
    shutil.rmtree(part, ignore_errors=True)  # of a killed process with the same number, as containers give them
    part.mkdir()
    try:
        yield part
        part.rename(path)
    finally:
        shutil.rmtree(part, ignore_errors=True)
