"""Each line stands in `--log-file` once.

Symptom: fairseq-train opens its `--log-file` anew in each epoch and closes it never, so that a line of the 17th epoch
stands in it 17 times, and a training of some thousand epochs ends with "Too many open files".
fairseq 0.12.2 and main; can go when `progress_bar` of `fairseq.logging.progress_bar` adds no second handler of a file.
"""

import logging
import os
from collections.abc import Callable
from typing import Any

from fairseq.logging import progress_bar

from fairseq_rope.compat.wrapping import wrap


def open_log_files_once() -> None:
    """Open a log file with the first progress bar that names it alone."""
    wrap(progress_bar, "progress_bar", _open_once)


def _open_once(
    make: Callable[..., Any],
    iterator: Any,
    log_format: str | None = None,
    log_interval: int = 100,
    log_file: str | None = None,
    *args: Any,
    **kwargs: Any,
) -> Any:
    handlers = [each for each in progress_bar.logger.handlers if isinstance(each, logging.FileHandler)]
    if log_file is not None and any(each.baseFilename == os.path.abspath(log_file) for each in handlers):
        log_file = None
    return make(iterator, log_format, log_interval, log_file, *args, **kwargs)
