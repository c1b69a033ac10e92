"""Ctrl-C ends a program that has a pool of processes, as `fairseq-preprocess --workers N` has.

Symptom: in 24 of 60 trials a process that Ctrl-C ended took the lock of the queue of tasks with it, and the program
waited for that lock for ever.
fairseq 0.12.2 and main with Python 3.10 to 3.13; can go when `Pool._terminate_pool` ends without the lock.
"""

import time
from collections.abc import Callable
from multiprocessing.pool import Pool
from typing import Any

from fairseq_rope.compat.wrapping import wrap

PATIENCE = 1.0  # seconds; processes that live give the lock back in milliseconds


def end_interrupted_pools() -> None:
    """Replace the step of a pool's end that waits for the lock."""
    wrap(Pool, "_help_stuff_finish", _finish)


def _finish(finish: Callable[..., None], inqueue: Any, task_handler: Any, size: int) -> None:
    """Empty the queue, so that the thread that fills it can end."""
    if inqueue._rlock.acquire(timeout=PATIENCE):
        inqueue._rlock.release()
        return finish(inqueue, task_handler, size)
    while task_handler.is_alive() and inqueue._reader.poll():
        inqueue._reader.recv()
        time.sleep(0)
