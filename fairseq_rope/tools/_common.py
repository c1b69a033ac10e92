"""What every tool shares: errors as one line, and outputs that are complete or not there."""

import contextlib
import logging
import os
import shutil
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path


class ToolError(ValueError):
    """A bad input, told to the user as one line that names the option, file, line, rule and value."""


def run(name: str, main: Callable[[], None]) -> None:
    """Run a tool's `main`; a bad input becomes one line on stderr and exit status 1, without a traceback."""
    try:
        main()
        sys.stdout.flush()
    except (ToolError, OSError) as error:
        sys.exit(f"{name}: error: {error}")
    except KeyboardInterrupt:
        sys.exit(130)


def silence_libraries() -> None:
    """Keep stderr for what concerns the user's files; `python -W default` shows the libraries' own warnings again."""
    logging.getLogger().setLevel(logging.WARNING)  # a module of fairseq sets INFO on import
    if not sys.warnoptions:
        warnings.simplefilter("ignore", UserWarning)  # hydra's about its own future


@contextlib.contextmanager
def complete_file(path: Path) -> Iterator[Path]:
    """Give a temporary path beside `path`, renamed to it when the block ends well and removed when it does not.

    Raises:
        ToolError: the folder of `path` does not exist, or `path` is a folder or a device.
    """
    if path.exists() and not path.is_file():
        raise ToolError(f"cannot write {path}: it is not a file")
    if not path.parent.is_dir():
        raise ToolError(f"cannot write {path}: there is no folder {path.parent}")
    part = path.with_name(f"{path.name}.part-{os.getpid()}")
    try:
        yield part
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


@contextlib.contextmanager
def complete_folder(path: Path) -> Iterator[Path]:
    """Give a new folder beside `path`, renamed to it when the block ends well and removed when it does not.

    Raises:
        ToolError: something is at `path` already, or its parent does not exist.
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
