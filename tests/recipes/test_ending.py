"""scripts/lib/ending.sh: a recipe that is told to end, alone and not with its group, ends what it has started."""

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.recipes.test_parallel import is_free, wait_for
from tests.support import ROOT
from tests.support.stubs import Stubs

BASE = ROOT / "scripts" / "lib" / "base.sh"
STAGES = {  # setting by which it takes a minute -> what is there once it has begun, and the products of its end
    "PREPARING": ("data-bin.settings", "data-bin"),
    "TRAINING": ("rope/train.log", "rope/trained"),
    "EVALUATING": ("rope/generate-test.log.part", "rope/generate-test.log"),
}


def started(stubs: Stubs, work: Path, prefix: tuple[str, ...] = (), **settings: str) -> subprocess.Popen[bytes]:
    """The recipe, leader of a group of its own."""
    return subprocess.Popen(
        [*prefix, *stubs.command("--models", "rope sinusoidal")],
        env=stubs.environment(work, **settings),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def locks(work: Path) -> list[Path]:
    return [work / name for name in ("lock", "rope.lock", "sinusoidal.lock")]


@pytest.mark.parametrize("signum", [signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("stage", STAGES)
def test_what_a_stage_has_started_ends_with_the_recipe_at_once(
    stubs: Stubs, tmp_path: Path, stage: str, signum: signal.Signals
):
    begun, product = (tmp_path / name for name in STAGES[stage])
    process = started(stubs, tmp_path, ("env", f"--default-signal={signum.name[3:]}"), **{stage: "60"})
    assert wait_for(begun.exists)
    os.kill(process.pid, signum)
    assert process.wait(5) == -signum
    assert wait_for(lambda: all(map(is_free, locks(tmp_path))), 5)
    assert not product.exists()


def test_models_at_once_end_with_the_recipe_that_alone_is_told_so(stubs: Stubs, tmp_path: Path):
    process = started(stubs, tmp_path, PARALLEL="2", TRAINING="60")
    assert wait_for(lambda: all((tmp_path / name / "train.log").exists() for name in ("rope", "sinusoidal")))
    process.terminate()
    assert process.wait(5) == -signal.SIGTERM
    assert wait_for(lambda: all(map(is_free, locks(tmp_path))), 5)


def test_an_interrupt_of_a_terminal_ends_the_recipe_as_one(stubs: Stubs, tmp_path: Path):
    process = started(stubs, tmp_path, ("env", "--default-signal=INT"), TRAINING="60")
    assert wait_for((tmp_path / "rope" / "train.log").exists)
    time.sleep(0.5)  # bash forgets an interrupt while it starts a program, here the stub its `sleep`
    os.killpg(process.pid, signal.SIGINT)
    assert process.wait(5) == -signal.SIGINT  # 130 to a shell
    assert wait_for(lambda: all(map(is_free, locks(tmp_path))), 5)


def test_a_recipe_that_ignores_the_end_of_its_terminal_goes_on(stubs: Stubs, tmp_path: Path):
    process = started(stubs, tmp_path, ("nohup",), TRAINING="2")
    assert wait_for((tmp_path / "rope" / "train.log").exists)
    os.kill(process.pid, signal.SIGHUP)
    assert process.wait(60) == 0 and (tmp_path / "sinusoidal" / "trained").exists()


def test_only_what_a_script_has_started_in_its_group_ends_with_it(tmp_path: Path):
    lines = 'source "$0"; set -m; sleep 60 >/dev/null & echo $!; set +m; sleep 61 | cat'
    beside = subprocess.Popen(["sleep", "60"])
    script = subprocess.Popen(["bash", "-c", lines, str(BASE)], stdout=subprocess.PIPE)
    assert script.stdout is not None
    own_group = int(script.stdout.readline())
    assert wait_for(lambda: len(children(script.pid)) == 3)
    within = children(script.pid) - {own_group}
    try:
        script.terminate()
        assert script.wait(5) == -signal.SIGTERM
        assert wait_for(lambda: not any(map(lives, within)), 5)
        assert beside.poll() is None and lives(own_group)
    finally:
        beside.kill()
        os.kill(own_group, signal.SIGKILL)


def children(process: int) -> set[int]:
    return {int(number) for number in Path(f"/proc/{process}/task/{process}/children").read_text().split()}


def lives(process: int) -> bool:
    stat = Path(f"/proc/{process}/stat")
    return stat.exists() and stat.read_text().rpartition(")")[2].split()[0] != "Z"
