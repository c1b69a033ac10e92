"""fairseq_rope_data.follow: a command after each validation, and once more when the followed process has ended."""

import shlex
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from fairseq_rope_data.follow import progress
from tests.support.train_logs import LOG

LINES = LOG.splitlines(keepends=True)
# copies what it sees
COMMAND = ["bash", "-c", 'cat "$0"/*/train.log "$0"/*/score-* >>"$0/seen" 2>/dev/null; echo . >>"$0/calls"; exit 3']


@pytest.fixture
def work(tmp_path: Path) -> Path:
    (tmp_path / "wörk -x" / "rope").mkdir(parents=True)
    return tmp_path / "wörk -x"


@pytest.fixture
def recipe(work: Path) -> subprocess.Popen:
    """A process that has started the follower, which has looked at the folder, and goes on."""
    command = shlex.join([sys.executable, "-m", "fairseq_rope_data.follow", "PID", str(work), *COMMAND, str(work)])
    command = command.replace("PID", "$$")
    process = subprocess.Popen(["bash", "-c", f"{command} & echo $! >{shlex.quote(str(work / 'pid'))}; exec sleep 600"])
    scores = work / "rope" / "score-first.json"
    scores.touch()
    deadline = time.monotonic() + 60
    while not calls(work):  # it follows what comes after its first look
        assert time.monotonic() < deadline
        scores.write_text(scores.read_text() + "{}")
        time.sleep(0.5)
    time.sleep(5)  # and the look at the last of these
    (work / "calls").unlink()
    yield process
    process.kill()
    process.wait()


def calls(work: Path) -> int:
    return (work / "calls").read_text().count(".") if (work / "calls").exists() else 0


def wait_for(done: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not done():
        assert time.monotonic() < deadline, "it has not come to that"
        time.sleep(0.05)


def test_it_is_run_after_each_validation_and_score_and_its_failure_ends_nothing(work: Path, recipe: subprocess.Popen):
    (work / "rope" / "train.log").write_text(LINES[0])
    time.sleep(5)
    assert calls(work) == 0, "there is no validation yet"
    for count, lines in enumerate((3, 5), 1):
        (work / "rope" / "train.log").write_text("".join(LINES[:lines]))
        wait_for(lambda count=count: calls(work) == count)
    with (work / "rope" / "train.log").open("a") as file:
        file.write("a line that is no validation\n")
    time.sleep(5)
    assert calls(work) == 2
    (work / "rope" / "score-test.json").write_text("{}")
    wait_for(lambda: calls(work) == 3)


def test_the_last_progress_before_the_recipe_was_killed_is_not_missed_and_nothing_stays(
    work: Path, recipe: subprocess.Popen
):
    (work / "rope" / "train.log").write_text("".join(LINES[:3]))
    wait_for(lambda: calls(work) == 1)
    (work / "rope" / "train.log").write_text(LOG)
    recipe.kill()  # and nobody has asked for its status yet
    wait_for(lambda: not Path("/proc", (work / "pid").read_text().strip()).exists())
    assert LOG in (work / "seen").read_text()


def test_what_is_removed_between_two_looks_at_it_is_no_error(work: Path) -> None:
    (work / "rope" / "train.log").write_text(LOG)
    (work / "rope" / "score-test.json").write_text("{}")
    found = progress(work)
    (work / "rope" / "score-gone.json").symlink_to("nowhere")  # a name without a file, as of one that has just gone
    assert progress(work) == found and len(found) == 2
