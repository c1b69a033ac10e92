"""A process's peak of memory."""

import os
import subprocess
import sys

from benchmarks.model import clock


def childs_peak() -> int:
    code = "from benchmarks.model import clock; print(clock.peak_memory('cpu'))"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    return int(subprocess.check_output([sys.executable, "-c", code], env=environment))


def test_the_peak_is_the_process_own_and_not_its_parents():
    alone = childs_peak()
    filled = bytearray(b"1") * (alone + 500 * 2**20)
    assert abs(childs_peak() - alone) < 100 * 2**20
    assert clock.peak_memory("cpu") > len(filled)
