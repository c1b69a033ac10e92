"""Outputs that are complete or not there, through links too; standard streams that are closed, full or left."""

import os
import resource
import subprocess
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from fairseq_rope_data.errors import UserError
from fairseq_rope_data.files import complete_file, complete_files, complete_folder
from tests.support import ROOT


def test_the_file_that_a_link_points_to_is_written_and_the_link_stays(tmp_path: Path) -> None:
    (tmp_path / "far").mkdir()
    (tmp_path / "far" / "old").write_text("old")
    (tmp_path / "folder").symlink_to("far")
    for link, target in (("link", "far/old"), ("twice", "link"), ("dangling", "far/new"), ("absolute", tmp_path / "x")):
        (tmp_path / link).symlink_to(target)
        with complete_file(tmp_path / link) as part:
            part.write_text(link)
        assert (tmp_path / link).is_symlink() and (tmp_path / link).read_text() == link
    with complete_file(tmp_path / "folder" / "own") as part:
        part.write_text("own")
    files = {path.name: path.read_text() for path in tmp_path.rglob("*") if path.is_file() and not path.is_symlink()}
    assert files == {"old": "twice", "new": "dangling", "x": "absolute", "own": "own"}


def test_a_failure_leaves_a_links_file_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "old").write_text("old")
    (tmp_path / "link").symlink_to("old")
    with pytest.raises(KeyboardInterrupt), complete_file(tmp_path / "link") as part:
        part.write_text("new")
        raise KeyboardInterrupt
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link", "old"]
    assert (tmp_path / "link").read_text() == "old"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("folder", "cannot write {}/folder: it is a folder"),
        ("link", "cannot write {}/link, which is {}/folder: it is a folder"),
        ("device", "cannot write {}/device, which is /dev/null: it is a device"),
        ("pipe", "cannot write {}/pipe: it is a device"),
        ("loop", "cannot write {}/loop: it is a link to itself"),
        ("astray", "cannot write {}/astray, which is /no/out: there is no folder /no"),
        ("no/out", "cannot write {}/no/out: there is no folder {}/no"),
        ("file/out", "cannot write {}/file/out: there is no folder {}/file"),
    ],
)
def test_what_cannot_be_written_is_told_before_the_work(tmp_path: Path, name: str, message: str) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    os.mkfifo(tmp_path / "pipe")
    for link, target in (("link", "folder"), ("loop", "loop"), ("astray", "/no/out"), ("device", "/dev/null")):
        (tmp_path / link).symlink_to(target)
    for outputs in (complete_file(tmp_path / name), complete_files(tmp_path / "good", tmp_path / name)):
        with pytest.raises(UserError) as caught, outputs:
            pytest.fail("the work began")
        assert str(caught.value) == message.replace("{}", str(tmp_path))


@pytest.mark.parametrize("name", ["folder", "file", "link", "dangling", "loop"])
def test_a_folder_is_never_written_over_what_is_there(tmp_path: Path, name: str) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    for link, target in (("link", "folder"), ("dangling", "new"), ("loop", "loop")):
        (tmp_path / link).symlink_to(target)
    with pytest.raises(UserError, match=rf"{name} exists already"), complete_folder(tmp_path / name):
        pytest.fail("the work began")


@pytest.mark.parametrize("kind", ["folder", "file", "link"])
def test_the_faster_of_two_that_write_a_folder_keeps_it(tmp_path: Path, kind: str) -> None:
    output = tmp_path / "out"
    with (
        pytest.raises(UserError, match=rf"^{output} exists already; remove it or choose another name$"),
        complete_folder(output) as part,
    ):
        (part / "mine").touch()
        if kind == "folder":
            output.mkdir()
            (output / "theirs").touch()
        elif kind == "file":
            output.touch()
        else:
            output.symlink_to(tmp_path)
    assert not (output / "mine").exists() and not part.exists()


@pytest.mark.parametrize("complete", [complete_file, complete_folder])
def test_an_output_that_outgrows_its_limit_is_named_and_not_there(
    tmp_path: Path, complete: Callable[[Path], AbstractContextManager[Path]]
) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))
    try:
        with (
            pytest.raises(UserError, match=r"^cannot write .*/out: File too large$"),
            complete(tmp_path / "out") as part,
        ):
            (part / "file" if part.is_dir() else part).write_bytes(b"x" * 2000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert list(tmp_path.iterdir()) == []


SCORES = "BLEU = 100.00 "


STREAMS = [
    (">&-", 1, "", "score: error: stdout closed\n"),
    ("--ref - <&-", 1, "", "score: error: stdin closed\n"),
    ("<&- 2>&-", 0, SCORES, ""),
    (">/dev/full", 1, "", "score: error: stdout cannot be written: No space left on device\n"),
    ("--log none 2>/dev/full", 1, "", ""),
    ("| true", 141, "", ""),
]


# Python's buffer of stdout makes no difference where stdin is what is closed
@pytest.mark.parametrize(
    ("streams", "status", "stdout", "stderr", "unbuffered"),
    [(*case, "") for case in STREAMS] + [(*case, "1") for case in STREAMS if "<" not in case[0]],
)
def test_a_stream_that_is_closed_full_or_left_is_named(
    tmp_path: Path, streams: str, status: int, stdout: str, stderr: str, unbuffered: str
) -> None:
    (tmp_path / "text").write_text("one two three four five\n")
    command = f"'{sys.executable}' -m fairseq_rope_data score --sys text --ref text --detokenised {streams}"
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command],
        cwd=tmp_path,
        env={**os.environ, "PYTHONUNBUFFERED": unbuffered, "PYTHONPATH": f"{ROOT}:{ROOT}/data-prep"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (status, stderr)
    assert (stdout in done.stdout) if stdout else done.stdout == ""


def test_what_a_killed_process_left_half_written_is_removed(tmp_path: Path) -> None:
    ended = subprocess.Popen(["true"])
    ended.wait()
    lives = tmp_path / f"out.part-{os.getppid()}"
    for name in (
        f"out.part-{ended.pid}",
        f"out.part-{os.getpid()}",
        lives.name,
        "out.part-x",
        f"other.part-{ended.pid}",
    ):
        (tmp_path / name).write_text(name)
    (tmp_path / f"folder.part-{ended.pid}").mkdir()
    with complete_file(tmp_path / "out") as part, complete_folder(tmp_path / "folder"):
        part.write_text("whole")
    kept = {"out", "folder", lives.name, "out.part-x", f"other.part-{ended.pid}"}
    assert {path.name for path in tmp_path.iterdir()} == kept
