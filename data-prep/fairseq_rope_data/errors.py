"""Errors as one line, for every program."""

import sys
from collections.abc import Callable
from pathlib import Path

from fairseq_rope_data.streams import buffer_stdout, flush_stdout, open_closed_streams, stream_problem, tell


class UserError(ValueError):
    """A bad input, told to the user as one line that names the option, file, line, rule and value."""


def why_no_file(path: Path) -> str:
    """Return why `path` is no file that can be read, as the end of an error's text."""
    return "it is a folder" if path.is_dir() else "there is no such file"


def run(name: str, main: Callable[[], None]) -> None:
    """Run a program's `main`; a bad input becomes one line on stderr and exit status 1, without a traceback.

    A reader of stdout that has enough, such as `head`, is no error: the status is 141, as it is for other programs.
    """
    closed = open_closed_streams()
    buffer_stdout()
    try:
        try:
            main()
        finally:
            flush_stdout()
    except BrokenPipeError:
        sys.exit(141)
    except (UserError, OSError) as error:
        text = stream_problem(error, closed) or str(error)
        tell(f"{name}: error: {text}".replace("\n", "\\n"))  # a path may hold line ends
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)
