"""Ctrl-C ends a training that is writing a checkpoint, and a second try to write one begins at the file's start.

Symptom: torch ends its file also after an interrupt, fails, and the KeyboardInterrupt is lost behind its RuntimeError.
fairseq takes that for an error of the disk and writes the checkpoint once more, behind the bytes that are there.
Training goes on, and the broken file is copied over checkpoint_best.pt and checkpoint_last.pt.
fairseq 0.12.2 and main with torch 2.13; can go when fairseq writes each try to a new file.
"""

import io
import logging
import time
from collections.abc import Callable
from typing import Any

import torch
from fairseq import checkpoint_utils

from fairseq_rope.compat.wrapping import wrap

TRIES, PAUSE = 3, 2.5  # fairseq's; seconds

logger = logging.getLogger(__name__)


def end_interrupted_saves() -> None:
    """Replace the function by which fairseq writes its checkpoints."""
    wrap(checkpoint_utils, "_torch_persistent_save", _save)


def _save(save: Callable[..., Any], obj: object, file: io.BufferedWriter | str) -> None:
    """Write `obj` to an empty file.

    Raises:
        KeyboardInterrupt: there was one meanwhile.
        RuntimeError or OSError: the disk has refused it three times.
    """
    if isinstance(file, str):  # fairseq opens it and calls this again
        return save(obj, file)
    for attempt in range(1, TRIES + 1):
        try:
            if attempt > 1:
                file.seek(0)  # which writes what the buffer still holds, or fails as well
                file.truncate()
            return torch.save(obj, file)
        except Exception as error:
            if _is_interrupted(error):
                raise KeyboardInterrupt from error
            if attempt == TRIES or not file.seekable():  # as the queue of --write-checkpoints-asynchronously
                logger.exception("could not write a checkpoint")
                raise
            time.sleep(PAUSE)


def _is_interrupted(error: BaseException | None) -> bool:
    """Return whether a KeyboardInterrupt is among the errors before this one."""
    while error and not isinstance(error, KeyboardInterrupt):
        error = error.__context__
    return error is not None
