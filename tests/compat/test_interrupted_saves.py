"""Ctrl-C ends a save, and a save that failed once is written anew: with real files, signals and errors of the disk."""

import errno
import io
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch
from fairseq import checkpoint_utils

from fairseq_rope.compat import interrupted_saves

STATE = {"model": {f"layer{number}.weight": torch.full((64, 64), float(number)) for number in range(8)}}


class Disturbed(io.FileIO):
    """A file that calls `disturb` before one of its writes."""

    def __init__(self, path: Path, disturb: Callable[[], None], *, at: int) -> None:
        super().__init__(path, "w")
        self.disturb, self.left = disturb, at

    def write(self, data: bytes) -> int:
        self.left -= 1
        if self.left == 0:
            self.disturb()
        return super().write(data)


def full() -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.fixture(autouse=True)
def interruptible() -> Iterator[None]:
    """Ctrl-C is heard, too, where a shell started these tests in the background, which ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(autouse=True)
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The seconds between tries, which are not waited for."""
    seconds: list[float] = []
    monkeypatch.setattr(interrupted_saves.time, "sleep", seconds.append)
    return seconds


@pytest.mark.parametrize("at", [1, 2, 5, 20])
def test_an_interrupt_ends_the_save(at: int, tmp_path: Path):
    with (
        Disturbed(tmp_path / "a.pt", lambda: signal.raise_signal(signal.SIGINT), at=at) as file,
        pytest.raises(KeyboardInterrupt),
    ):
        checkpoint_utils._torch_persistent_save(STATE, file)


@pytest.mark.parametrize("at", [1, 2, 5, 20])
def test_a_second_try_writes_from_the_start(at: int, tmp_path: Path):
    with Disturbed(tmp_path / "a.pt", full, at=at) as file:
        checkpoint_utils._torch_persistent_save(STATE, file)
        assert file.left < 0
    saved = torch.load(tmp_path / "a.pt")["model"]
    assert saved.keys() == STATE["model"].keys()
    assert all(torch.equal(saved[name], weight) for name, weight in STATE["model"].items())
    checkpoint_utils.torch_persistent_save(STATE, str(tmp_path / "b.pt"))
    assert (tmp_path / "a.pt").stat().st_size == (tmp_path / "b.pt").stat().st_size


def test_a_buffer_that_finds_no_space_yet_takes_a_try_and_not_all(tmp_path: Path, pauses: list[float]):
    class Full(io.FileIO):
        def write(self, data: bytes) -> int:
            return super().write(data) if len(pauses) == 2 else full()

    with io.BufferedWriter(Full(tmp_path / "a.pt", "w")) as file:
        checkpoint_utils._torch_persistent_save(STATE, file)
    assert len(pauses) == 2 and torch.load(tmp_path / "a.pt")["model"].keys() == STATE["model"].keys()


def test_three_failures_are_an_error(tmp_path: Path, pauses: list[float]):
    with Disturbed(tmp_path / "a.pt", lambda: None, at=-1) as file:
        file.write = lambda data: full()
        with pytest.raises((OSError, RuntimeError)):
            checkpoint_utils._torch_persistent_save(STATE, file)
    assert pauses == [2.5, 2.5]


def test_what_cannot_be_written_anew_is_an_error_at_once(tmp_path: Path, pauses: list[float]):
    with Disturbed(tmp_path / "a.pt", full, at=5) as file:
        file.seekable = lambda: False
        with pytest.raises((OSError, RuntimeError)):
            checkpoint_utils._torch_persistent_save(STATE, file)
    assert not pauses
