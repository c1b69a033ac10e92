"""scripts/lib/lock.sh: one run at a time in a work folder, whatever became of the other one."""

import fcntl
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support import ROOT
from tests.support.process_groups import kill_group
from tests.support.stubs import Stubs


@pytest.fixture(scope="module")
def finished(stubs: Stubs) -> Path:
    """A work folder that is prepared, in the place of one in which the whole recipe has run."""
    work = stubs.folder / "prepared"
    done = stubs.run(work, *stubs.command("fetch", "prepare"))
    assert done.returncode == 0, done.stderr
    return work


@pytest.fixture
def training(stubs: Stubs, work: Path):
    """A function that starts a training of a minute and waits until it is under way."""
    started: list[subprocess.Popen[bytes]] = []

    def start(*stages: str, **settings: str) -> subprocess.Popen[bytes]:
        env = stubs.environment(work, TRAINING="60", **settings)
        quiet = subprocess.DEVNULL
        command = stubs.command(*stages)
        process = subprocess.Popen(command, env=env, stdout=quiet, stderr=quiet, start_new_session=True)
        started.append(process)
        wait_for(lambda: (work / settings.get("MODELS", "rope") / "train.log").exists(), process)
        return process

    yield start
    for process in started:
        kill_group(process)


def wait_for(condition: Callable[[], bool], process: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + 120
    while not condition():
        assert process.poll() is None and time.monotonic() < end
        time.sleep(0.02)


def test_a_second_run_is_refused_before_it_does_anything(stubs: Stubs, work: Path, training):
    process = training("train")
    for stages in ([], ["fetch"], ["prepare"], ["train"], ["average"], ["evaluate"]):
        done = stubs.run(work, *stubs.command(*stages))
        assert done.returncode == 1 and f"another run works in {work}" in done.stderr, done.stderr
        assert f"process {process.pid}, bash " in done.stderr and "run_bitext.sh --train" in done.stderr
        assert not stubs.calls("fairseq-train")


def test_a_preparation_alone_is_refused_beside_a_run(stubs: Stubs, work: Path, training):
    process = training("train")
    program = [word.replace("scripts/run_bitext.sh", "data-prep/prepare_bitext.sh") for word in stubs.command()]
    for known in ("", str(process.pid)):  # what a recipe tells its own preparation is not believed from elsewhere
        done = stubs.run(work, *program, RECIPE_PROCESS=known)
        assert done.returncode == 1 and f"another run works in {work}: process {process.pid}" in done.stderr


def test_two_models_train_at_once_in_one_folder(stubs: Stubs, work: Path, training):
    training(MODELS="rope")
    done = stubs.run(work, *stubs.command("train", "average", "evaluate"), MODELS="sinusoidal")
    assert done.returncode == 0, done.stderr
    done = stubs.run(work, *stubs.command("train"), MODELS="sinusoidal rope")
    assert done.returncode == 1 and f"another run works in {work}/rope: " in done.stderr


def test_a_training_whose_recipe_was_killed_keeps_others_out_until_it_ends(stubs: Stubs, work: Path, training):
    process = training("train")
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    done = stubs.run(work, *stubs.command("train"))
    assert done.returncode == 1 and "fairseq-train" in done.stderr.split("another run works in ")[1], done.stderr
    os.killpg(process.pid, signal.SIGKILL)
    done = stubs.run(work, *stubs.command("train"))
    assert done.returncode == 0, done.stderr


def test_a_run_that_is_ending_is_waited_for(stubs: Stubs, work: Path):
    with (work / "lock").open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        threading.Timer(1, lambda: fcntl.flock(file, fcntl.LOCK_UN)).start()
        done = stubs.run(work, *stubs.command("train"))
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("flock", "note"),
    [(None, "there is no flock on the PATH"), ("exit 71", "there are no locks on the disk of ")],
    ids=["no flock", "no locks"],
)
def test_where_nothing_can_lock_it_is_said(stubs: Stubs, work: Path, tmp_path: Path, flock: str | None, note: str):
    path = tmp_path / "bin"
    path.mkdir()
    for folder in os.environ["PATH"].split(os.pathsep):
        for tool in Path(folder).glob("*"):
            if tool.name != "flock" and not (path / tool.name).exists():
                (path / tool.name).symlink_to(tool)
    if flock:
        (path / "flock").write_text(f"#!/bin/sh\n{flock}\n")
        (path / "flock").chmod(0o755)
    env = {**stubs.environment(work), "PATH": f"{stubs.bin}{os.pathsep}{path}"}
    done = subprocess.run(stubs.command("train"), env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and note in done.stderr, done.stderr


def test_the_holder_that_is_named_was_started_first_though_numbers_of_processes_have_begun_anew(tmp_path: Path):
    file, last = tmp_path / "lock", Path("/proc/sys/kernel/ns_last_pid")
    if not os.access(last, os.W_OK):
        pytest.skip(f"{last} cannot be written: only root can choose the number of the next process")
    holders = []
    try:
        for seconds in ("60", "61"):
            with file.open("a") as opened:
                holders.append(subprocess.Popen(["sleep", seconds], stdout=opened))
            time.sleep(0.05)  # starts are told in hundredths of a second
            last.write_text("300")
        assert holders[1].pid < holders[0].pid
        script = f'source "{ROOT}/scripts/lib/lock.sh" && holder "$1"'
        told = subprocess.run(["bash", "-c", script, "-", str(file)], capture_output=True, text=True, check=True).stdout
        assert told.strip() == f"process {holders[0].pid}, sleep 60"
    finally:
        for process in holders:
            process.kill()
            process.wait()


def test_a_folder_in_the_place_of_a_lock_is_named(stubs: Stubs, tmp_path: Path):
    (tmp_path / "lock").mkdir()
    done = stubs.run(tmp_path, *stubs.command())
    assert done.returncode == 1 and done.stderr.endswith(
        f"error: {tmp_path}/lock must be a file, but is a folder: move it, or choose another folder with WORK\n"
    )
