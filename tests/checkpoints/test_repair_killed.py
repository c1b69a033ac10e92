"""`repair` killed before any of its lines: nothing is lost, and the next one makes the folder good."""

import os
import shutil
import sys
from collections import Counter
from pathlib import Path
from types import FrameType

import pytest

from fairseq_rope.checkpoints.health import examine
from fairseq_rope.checkpoints.repair import repair
from tests.support.save_dirs import BEST, LAST, cut, digest, digests, put, put_earlier, touch_later, zero_the_middle


def half_written(folder: Path, whole: Counter[str]) -> list[Path]:
    """Files of other bytes than those that were there, but for copies under a temporary name."""
    return [path for path in folder.iterdir() if digest(path) not in whole and ".part-" not in path.name]


def kill_at_line(folder: Path, count: int) -> bool:
    """Repair in a child that kills itself before the line `count` of repair or its copying; True if it was killed."""
    child = os.fork()
    if child == 0:
        left = count

        def trace(frame: FrameType, event: str, argument: object) -> object:
            nonlocal left
            if not frame.f_code.co_filename.endswith(("checkpoints/repair.py", "shutil.py")):
                return None
            left -= event == "line"
            if left < 0:
                os._exit(9)
            return trace

        sys.settrace(trace)
        list(repair(folder))
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9


def broken_last(folder: Path) -> None:
    cut(put(folder / LAST, 60))


def no_last(folder: Path) -> None:
    """As a kill of an earlier version left it."""


def older_last(folder: Path) -> None:
    put_earlier(folder / LAST, 40)


@pytest.mark.parametrize("last", [broken_last, no_last, older_last])
def test_a_kill_at_any_line_loses_nothing_and_the_next_repair_makes_it_good(last, tmp_path: Path):
    origin, folder = tmp_path / "origin", tmp_path / "folder"
    origin.mkdir()
    put(origin / "checkpoint1.pt", 20)
    zero_the_middle(put(origin / "checkpoint_best.pt", 40))
    cut(put(origin / "checkpoint2.pt", 60))
    put(origin / "checkpoint_3_60.pt", 60, best=3.25)
    last(origin)
    before, killed = digests(origin), 0
    while True:
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(origin, folder)
        if last is older_last:
            touch_later(folder, but=folder / LAST)
        alive = not kill_at_line(folder, killed)
        assert before <= digests(folder), f"lost after line {killed}"
        assert not half_written(folder, before), f"after line {killed}"
        list(repair(folder))
        assert before <= digests(folder) and examine(folder / LAST).updates == 60, f"after line {killed}"
        assert examine(folder / BEST).updates == 60, f"after line {killed}"
        assert not list(folder.glob("*.part-*"))
        if alive:
            break
        killed += 1
    assert killed > 50
