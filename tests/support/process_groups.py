"""A program that was started with `start_new_session`, and what it started, which may live on after it."""

import contextlib
import os
import signal
import subprocess
import time


def kill_group(process: subprocess.Popen, *, seconds: float = 60) -> int:
    """Kill a program with all that it started; return its status when none of them is left.

    A killed child can end after the program. What it leaves half-written is not removed before it has ended.

    Raises:
        TimeoutError: a process has not ended after `seconds`.
    """
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    status = process.wait()
    deadline = time.monotonic() + seconds
    while is_alive(process.pid):
        if time.monotonic() > deadline:
            raise TimeoutError(f"a process of the group {process.pid} has not ended {seconds} s after SIGKILL")
        time.sleep(0.005)
    return status


def is_alive(group: int) -> bool:
    """Return whether a process group has a process."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True
