"""Apply a function to each line of a file on all cores: in order, one line out for each in, in memory that stays flat.

Not `multiprocessing.Pool.imap`: its feeder reads the whole input ahead of slower workers, so memory grows with the
input, and it waits for ever for a worker that the system has killed.
"""

import argparse
import contextlib
import multiprocessing
import os
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from itertools import islice
from multiprocessing.connection import wait
from pathlib import Path

from fairseq_rope_data.errors import UserError
from fairseq_rope_data.files import decode, open_text

LINES_A_TASK = 500
TASKS_A_JOB = 4  # done, at work or waiting: enough that no worker waits, and all that is in memory

LineFunction = Callable[[str], str]

_function: LineFunction = str  # of a worker process


def map_lines(function: LineFunction, lines: Iterable[bytes], *, name: str, jobs: int) -> Iterator[bytes]:
    r"""Apply `function` to each line.

    Args:
        function: line to line, both without \n; inherited by the workers, so it need not be picklable.
        lines: UTF-8, as a binary file gives them; the last one may lack its \n.
        name: of the file, for errors.
        jobs: worker processes; 1 works in this one.

    Yields: blocks of whole lines in their order, each line with \n.

    Raises:
        UserError: a line is not UTF-8, or a worker was killed.
    """
    blocks = _blocks(iter(lines))
    if jobs == 1:
        for first, block in blocks:
            yield _apply(function, block, name, first)
        return
    fork = multiprocessing.get_context("fork")
    executor = ProcessPoolExecutor(jobs, mp_context=fork, initializer=_start, initargs=(function,))
    waiting: deque[Future[bytes]] = deque()
    try:
        for first, block in blocks:
            waiting.append(executor.submit(_work, block, name, first))
            if len(waiting) == jobs * TASKS_A_JOB:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    except BrokenProcessPool:
        raise UserError(f"{name}: a worker process was killed, perhaps for lack of memory: try fewer --jobs") from None
    finally:
        executor.shutdown(cancel_futures=True)


def _blocks(lines: Iterator[bytes]) -> Iterator[tuple[int, list[bytes]]]:
    """Group lines into tasks, each with the number of its first line."""
    first = 1
    while block := list(islice(lines, LINES_A_TASK)):
        yield first, block
        first += len(block)


def _apply(function: LineFunction, block: list[bytes], name: str, first: int) -> bytes:
    texts = (decode(line, name, number) for number, line in enumerate(block, first))
    return "".join(f"{function(text)}\n" for text in texts).encode()


def _work(block: list[bytes], name: str, first: int) -> bytes:
    return _apply(_function, block, name, first)


def _start(function: LineFunction) -> None:
    """Set up a worker; Ctrl+C is the parent's to handle."""
    global _function
    _function = function
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """End when the parent is killed: else a worker waits for work for ever and keeps the parent's pipes open."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
    os._exit(1)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add FILE and --jobs, which all programs have that work by lines."""
    parser.add_argument("file", nargs="?", default="-", metavar="FILE", help="text to read (default: -, stdin)")
    cores = len(os.sched_getaffinity(0))
    parser.add_argument("--jobs", type=int, default=cores, help="processes (default: all cores)")


def filter_file(function: LineFunction, options: argparse.Namespace) -> None:
    """Write each line of the file that `add_arguments` has read, through `function`, to stdout.

    Raises:
        UserError: `--jobs` is below 1, the file cannot be read or isn't UTF-8, or a worker was killed.
    """
    if options.jobs < 1:
        raise UserError(f"--jobs must be at least 1, but is {options.jobs}")
    from_stdin = options.file == "-"
    with contextlib.nullcontext(sys.stdin.buffer) if from_stdin else open_text(Path(options.file)) as lines:
        for block in map_lines(function, lines, name="stdin" if from_stdin else options.file, jobs=options.jobs):
            sys.stdout.buffer.write(block)
