"""scripts/lib/parallel.sh: several models at once, one that fails, and a recipe that is stopped meanwhile."""

import fcntl
import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support import ROOT
from tests.support.stubs import Stubs

BAD = "MODEL_BAD=(--arch a --lr abc)\n"  # the stub fails with status 2
METHODS = ["rope", "xpos", "none", "sinusoidal", "learned", "alibi", "t5", "shaw"]


def wait_for(condition: Callable[[], bool], seconds: float = 60) -> bool:
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.05)
    return condition()


def is_free(lock: Path) -> bool:
    """Whether no process holds a lock, as all do that a run has started."""
    with lock.open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
    return True


def most_at_once(work: Path) -> int:
    """The largest number of trainings that ran at a time, by the files that the stub makes first and last."""
    spans = [
        ((run / "train.log").stat().st_mtime_ns, (run / "checkpoint_last.pt").stat().st_mtime_ns)
        for run in (path.parent for path in work.glob("*/train.log"))
    ]
    return max(sum(begin <= start < end for begin, end in spans) for start, _ in spans)


def test_models_are_trained_at_once_and_each_is_told_of_in_its_own_file(stubs: Stubs, tmp_path: Path):
    command = stubs.command("--models", "rope sinusoidal", "--seeds", "1,2", conf="unset OMP_NUM_THREADS\n")
    done = stubs.run(tmp_path, *command, PARALLEL="3", TRAINING="1.5")
    assert done.returncode == 0 and done.stdout.startswith("a table"), done.stderr
    assert most_at_once(tmp_path) == 3
    names = ["rope", "rope-seed2", "sinusoidal", "sinusoidal-seed2"]
    assert sorted(call[call.index("--save-dir") + 1] for call in stubs.calls("fairseq-train")) == [
        f"{tmp_path}/{name}" for name in names
    ]
    cores = int(subprocess.run(["nproc"], capture_output=True, text=True, check=True, env=nproc_environment()).stdout)
    for name in names:
        assert (tmp_path / name / "averaged.pt").exists() and (tmp_path / name / "score-test.json").exists()
        told = (tmp_path / name / "train.out").read_text()
        assert f"train {tmp_path}/{name}: " in told and f"threads: {max(cores // 3, 1)}\n" in told
        for stage in ("train", "average", "evaluate"):
            assert done.stderr.count(f"{stage} {tmp_path}/{name} is done") == 1
    assert "hardware: " not in done.stderr
    again = stubs.run(tmp_path, *command, PARALLEL="2")
    assert again.returncode == 0 and not stubs.calls("fairseq-train") and again.stdout == done.stdout


def nproc_environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name != "OMP_NUM_THREADS"}


def test_one_model_after_the_other_is_told_of_on_stderr_as_before(stubs: Stubs, tmp_path: Path):
    done = stubs.run(tmp_path, *stubs.command("--models", "rope sinusoidal"), TRAINING="0.3")
    assert done.returncode == 0 and done.stderr.count("hardware: ") == 2, done.stderr
    assert most_at_once(tmp_path) == 1 and not list(tmp_path.rglob("*.out"))


def test_a_model_that_fails_ends_the_recipe_with_its_status_and_the_others(stubs: Stubs, tmp_path: Path):
    command = stubs.command("--models", "rope bad sinusoidal", conf=BAD)
    begin = time.monotonic()
    done = stubs.run(tmp_path, *command, PARALLEL="2", TRAINING="60")
    assert done.returncode == 2 and time.monotonic() - begin < 50
    assert f"train {tmp_path}/bad failed with status 2: above the end of {tmp_path}/bad/train.out" in done.stderr
    assert "--lr abc" in done.stderr.split("rope, see")[1]
    assert wait_for(lambda: is_free(tmp_path / "rope.lock"), 5)
    assert not (tmp_path / "sinusoidal" / "train.log").exists() and not (tmp_path / "rope" / "trained").exists()
    command[-2:] = ["--models", "rope sinusoidal"]
    done = stubs.run(tmp_path, *command, PARALLEL="2")
    assert done.returncode == 0, done.stderr


def test_where_there_is_no_room_for_the_reason_of_a_failure_that_is_said(stubs: Stubs, tmp_path: Path):
    command = stubs.command("--models", "rope sinusoidal", conf="train_model() { seq 9999 >&2; }\n")
    limited = ["bash", "-c", "trap '' XFSZ; ulimit -f 16; exec \"$@\"", "bash", *command]  # no file above 16 KiB
    done = stubs.run(tmp_path, *limited, PARALLEL="2")
    assert done.returncode == 1 and "seq: " not in done.stderr
    assert f"\ntee: {tmp_path}/rope/train.out: File too large\n" in done.stderr, done.stderr


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_recipe_that_is_stopped_stops_what_it_has_started(stubs: Stubs, tmp_path: Path, signum: signal.Signals):
    env = stubs.environment(tmp_path, PARALLEL="2", TRAINING="60")
    command = stubs.command("--models", "rope sinusoidal")
    process = subprocess.Popen(
        ["env", f"--default-signal={signum.name[3:]}", *command],
        env=env,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    runs = [tmp_path / name for name in ("rope", "sinusoidal")]
    assert wait_for(lambda: all((run / "train.log").exists() for run in runs))
    os.killpg(process.pid, signum)
    assert process.wait(20) != 0
    assert wait_for(lambda: all(is_free(run.with_suffix(".lock")) for run in runs), 5)
    assert not any((run / "trained").exists() for run in runs)


@pytest.mark.parametrize(
    ("settings", "stages", "message"),
    [
        ({"PARALLEL": "0"}, [], "PARALLEL must be a whole number from 1 to 999, but is 0"),
        (
            {"PARALLEL": "2", "NODES": "2", "MASTER_ADDR": "a"},
            ["train"],
            "PARALLEL must be 1 on several nodes, but is 2",
        ),
        (
            {"PARALLEL": "2", "GPUS": "4", "PRECISION": "bf16"},
            [],
            "PARALLEL must be 1 where a model is trained on several GPUs, but is 2 with 4 GPUs",
        ),
    ],
    ids=["none", "several nodes", "several GPUs"],
)
def test_models_at_once_are_refused_where_they_cannot_be(
    stubs: Stubs, tmp_path: Path, settings: dict[str, str], stages: list[str], message: str
):
    done = stubs.run(tmp_path, *stubs.command(*stages), **settings)
    assert done.returncode == 1 and f"run_bitext.sh: error: {message}" in done.stderr
    assert not stubs.calls("fairseq-train")


def test_position_methods_are_compared_on_models_that_differ_in_nothing_else(stubs: Stubs, tmp_path: Path):
    script = str(ROOT / "scripts" / "compare_positions.sh")
    done = stubs.run(tmp_path, "bash", script, "--seeds", "1,2")
    assert done.returncode == 0, done.stderr
    calls = [" ".join(call) for call in stubs.calls("fairseq-train")]
    assert len(calls) == 16
    methods = []
    for call in calls:
        name = call.partition(f"--save-dir {tmp_path}/")[2].split()[0].removesuffix("-seed2")
        methods.append(call.partition("--position-method ")[2].split(" ")[0] or "rope")
        assert methods[-1] == name
    assert sorted(methods) == sorted(METHODS * 2)
    twins = {
        call.replace(f" --position-method {name}", "").replace(f"{tmp_path}/{name}", "RUN").replace("-seed2", "")
        for call, name in zip(calls, methods, strict=True)
    }
    assert len(twins) == 2  # one for each seed
    (results,) = stubs.calls("results")
    statistics = ["test: BLEU", "long: BLEU", "valid loss, best", "training, words/s"]
    assert results[3:] == [str(tmp_path), "--models", *METHODS, "--statistics", *statistics]
