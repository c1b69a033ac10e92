"""A pool of processes ends though a process of it died with the queue's lock."""

import subprocess
import sys

from tests.support import ROOT

PROGRAM = """
import os, signal, time
from multiprocessing import Pool
import fairseq_rope
with Pool(2) as pool:
    assert pool.map(abs, range(-9, 0)) == list(range(9, 0, -1))
    with pool._outqueue._wlock:
        pass  # all results are sent
    while pool._inqueue._rlock.acquire(block=False):
        pool._inqueue._rlock.release()
        time.sleep(0.01)
    # one of them waits for a task, and has the lock
    for process in pool._pool:
        os.kill(process.pid, signal.SIGKILL)
print("ended")
"""


def test_a_pool_ends_though_a_process_took_the_lock_with_it():
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", PROGRAM], capture_output=True, timeout=100, cwd=ROOT)
    assert done.stdout == b"ended\n", done.stderr.decode()
