"""fairseq_rope_data.follow: a command after each validation, and once more when the followed process has ended."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.support.train_logs import LOG

LINES = LOG.splitlines(keepends=True)
# copies what it sees
COMMAND = ["bash", "-c", 'cat "$0"/*/train.log "$0"/*/score-* >>"$0/seen" 2>/dev/null; echo . >>"$0/calls"; exit 3']


@pytest.fixture
def training() -> subprocess.Popen:
    process = subprocess.Popen(["sleep", "600"])
    yield process
    process.kill()


@pytest.fixture
def work(tmp_path: Path) -> Path:
    (tmp_path / "wörk -x" / "rope").mkdir(parents=True)
    return tmp_path / "wörk -x"


@pytest.fixture
def follower(work: Path, training: subprocess.Popen) -> subprocess.Popen:
    command = [sys.executable, "-m", "fairseq_rope_data.follow", str(training.pid), str(work), *COMMAND, str(work)]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    yield process
    process.kill()


def calls(work: Path) -> int:
    return (work / "calls").read_text().count(".") if (work / "calls").exists() else 0


def wait_for(count: int, work: Path, follower: subprocess.Popen) -> None:
    deadline = time.monotonic() + 60
    while calls(work) < count:
        assert follower.poll() is None and time.monotonic() < deadline, f"{calls(work)} calls"
        time.sleep(0.05)


def test_it_is_run_after_each_validation_and_score_and_its_failure_ends_nothing(work: Path, follower: subprocess.Popen):
    (work / "rope" / "train.log").write_text(LINES[0])
    time.sleep(5)
    assert calls(work) == 0, "there is no validation yet"
    for count, lines in enumerate((3, 5), 1):
        (work / "rope" / "train.log").write_text("".join(LINES[:lines]))
        wait_for(count, work, follower)
    with (work / "rope" / "train.log").open("a") as file:
        file.write("a line that is no validation\n")
    time.sleep(5)
    assert calls(work) == 2
    (work / "rope" / "score-test.json").write_text("{}")
    wait_for(3, work, follower)


def test_the_last_progress_before_the_end_is_not_missed(work: Path, training: subprocess.Popen, follower):
    (work / "rope" / "train.log").write_text("".join(LINES[:3]))
    wait_for(1, work, follower)
    (work / "rope" / "train.log").write_text(LOG)
    training.kill()
    training.wait()
    assert follower.wait(timeout=60) == 0
    assert LOG in (work / "seen").read_text()
