"""parallel_lines: order, bounded memory, and a clean end whatever is killed."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from fairseq_rope_data.errors import UserError
from fairseq_rope_data.workers import LINES_A_TASK, TASKS_A_JOB, map_lines


def slow_where_short(line: str) -> str:
    """Let later tasks overtake earlier ones."""
    time.sleep(0.001 if len(line) == 1 else 0)
    return line[::-1]


@pytest.mark.parametrize("jobs", [1, 3])
@pytest.mark.parametrize("end", [b"\n", b""], ids=["newline", "no newline"])
def test_lines_keep_their_order_and_number(jobs: int, end: bytes) -> None:
    texts = [str(i) for i in range(5 * LINES_A_TASK + 7)] + ["", "a\u2028b\x85c\rd"]
    lines = [f"{text}\n".encode() for text in texts[:-1]] + [texts[-1].encode() + end]
    result = b"".join(map_lines(slow_where_short, lines, name="text", jobs=jobs)).decode()
    assert result == "".join(f"{text[::-1]}\n" for text in texts)


@pytest.mark.parametrize("jobs", [1, 2])
def test_nothing_comes_of_nothing(jobs: int) -> None:
    assert list(map_lines(str, [], name="text", jobs=jobs)) == []


@pytest.mark.parametrize("jobs", [1, 2])
def test_no_more_is_read_ahead_than_a_few_tasks_for_each_worker(jobs: int) -> None:
    taken = 0

    def endless() -> Iterator[bytes]:
        nonlocal taken
        while True:
            taken += 1
            yield b"line\n"

    blocks = map_lines(str, endless(), name="text", jobs=jobs)
    for _ in range(3):
        next(blocks)
    time.sleep(0.2)  # a feeder of its own would go on reading
    assert taken <= LINES_A_TASK * (jobs * TASKS_A_JOB + 2)
    blocks.close()


@pytest.mark.parametrize("jobs", [1, 2])
def test_invalid_utf8_is_named_by_file_line_and_byte(jobs: int) -> None:
    lines = [b"gut\n"] * (LINES_A_TASK + 1) + [b"nicht \xff gut\n"]
    with pytest.raises(UserError, match=rf"^raw/train\.de:{LINES_A_TASK + 2}: not valid UTF-8, byte 7 is 0xff$"):
        list(map_lines(str, lines, name="raw/train.de", jobs=jobs))


def die(line: str) -> str:
    os.kill(os.getpid(), signal.SIGKILL)
    return line


def test_a_killed_worker_is_an_error_and_no_endless_wait() -> None:
    with pytest.raises(
        UserError, match=r"^text: a worker process was killed, perhaps for lack of memory: try fewer --jobs$"
    ):
        list(map_lines(die, [b"line\n"], name="text", jobs=2))


def test_workers_end_with_a_parent_that_is_killed() -> None:
    script = (
        "import fairseq_rope_data.workers as p, time;"
        "list(p.map_lines(lambda x: time.sleep(99), [b''] * 9, name='', jobs=3))"
    )
    command = [sys.executable, "-c", script]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
        deadline = time.monotonic() + 60
        while len(children.read_text().split()) < 3 and time.monotonic() < deadline:
            time.sleep(0.05)
        workers = children.read_text().split()
        assert len(workers) == 3
        process.kill()
        while any(Path("/proc", worker).exists() for worker in workers) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert not [worker for worker in workers if Path("/proc", worker).exists()]


# a small process asks: a process starts with the memory of the one that it is forked from, here pytest's
ASK = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024)
"""


def peak_memory(lines: int, tmp_path: Path) -> int:
    """Return the peak memory, in bytes, of the largest process of a run on many lines."""
    text = tmp_path / str(lines)
    text.write_bytes(b"".join(b"Zeile %09d, damit es mehr als ein paar Zeichen sind.\n" % i for i in range(lines)))
    tokenize = [sys.executable, "-m", "fairseq_rope_data.tokenize", "--lang", "de", "--tokenizer", "none"]
    command = [sys.executable, "-c", ASK, *tokenize, "--jobs", "2", str(text)]
    return int(subprocess.run(command, capture_output=True, check=True).stdout)


def test_memory_does_not_grow_with_the_number_of_lines(tmp_path: Path) -> None:
    few, many = peak_memory(5_000, tmp_path), peak_memory(400_000, tmp_path)
    assert (tmp_path / "400000").stat().st_size > 20_000_000
    assert many - few < 6_000_000
