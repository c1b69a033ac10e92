"""The page is written while a training goes on, and once more when it has ended or was stopped."""

import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.support.train_logs import LOG


def wait_for(what, process: subprocess.Popen) -> None:
    deadline = time.monotonic() + 120
    while not what():
        assert process.poll() is None and time.monotonic() < deadline, "it has not been written"
        time.sleep(0.1)


def test_it_is_written_after_each_validation_and_a_last_time_when_the_process_is_killed(tmp_path: Path):
    work, page = tmp_path / "work", tmp_path / "work" / "report.html"
    folder = work / "rope"
    folder.mkdir(parents=True)
    lines = LOG.splitlines(keepends=True)
    (folder / "train.log").write_text(lines[0])
    training = subprocess.Popen(["sleep", "600"])
    command = [sys.executable, "-m", "fairseq_rope.tools.report", str(work), "--output", str(page), "--follow"]
    follower = subprocess.Popen([*command, str(training.pid)], stderr=subprocess.PIPE, text=True)
    try:
        for count in (3, 5):  # after the first validation, and the second
            (folder / "train.log").write_text("".join(lines[:count]))
            update = re.findall(r"num_updates (\d+)", "".join(lines[:count]))[-1]
            wait_for(
                lambda update=update: page.exists() and f'<th scope="row">{update}</th>' in page.read_text(), follower
            )
        training.kill()
        training.wait()
        assert follower.wait(timeout=60) == 0
    finally:
        training.kill()
        follower.kill()
    assert follower.communicate()[1].count("report: note: no page yet:") <= 1
    assert "What does rope reach?" in page.read_text()


def test_an_error_is_told_once_and_the_last_page_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys):
    from fairseq_rope.page import follow as module
    from fairseq_rope_data.errors import UserError

    looks = iter(range(5))
    monkeypatch.setattr(module, "_lives", lambda _: next(looks) < 4)
    monkeypatch.setattr(module, "SECONDS", 0)
    monkeypatch.setattr(module, "_progress", lambda _: {tmp_path: time.monotonic_ns()})
    calls = []

    def write() -> None:
        calls.append(len(calls))
        if len(calls) in (2, 3):
            raise UserError("a log is damaged")

    module.follow([tmp_path], 1, write)
    assert len(calls) == 5
    assert capsys.readouterr().err == "report: note: no page yet: a log is damaged\n"
