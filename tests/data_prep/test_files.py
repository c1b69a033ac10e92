"""Lines of UTF-8 and their errors, files that are complete or not there, programs that end in one line."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from fairseq_rope_data.errors import UserError
from fairseq_rope_data.files import complete_files, read_lines
from tests.support import ROOT


def test_lines_end_at_newlines_only_and_a_byte_order_mark_is_no_text(tmp_path: Path) -> None:
    text = tmp_path / "text"
    text.write_bytes("\ufeffeins\u2028zwei\x85drei\r\n\n\ufeffvier\x0b\nfünf".encode())
    assert list(read_lines(text)) == ["eins\u2028zwei\x85drei\r", "", "\ufeffvier\x0b", "fünf"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("gut\nschön\n".encode("latin-1"), ":2: not valid UTF-8, byte 4 is 0xf6"),
        (b"gut\nabgeschnitten \xc3", ":2: not valid UTF-8, byte 15 is 0xc3"),
        (b"\xff\xfeg\0u\0t\0", ":1: not valid UTF-8, byte 1 is 0xff"),
        (b"<!DOCTYPE html>\n<title>404</title>", " is an HTML page, such as a server's error message, and not text"),
        (b"\xef\xbb\xbf\r\n <HTML lang=en>", " is an HTML page, such as a server's error message, and not text"),
    ],
    ids=["Latin-1", "cut in a character", "UTF-16", "HTML", "HTML after a byte order mark"],
)
def test_what_is_no_text_is_named_with_its_line(tmp_path: Path, content: bytes, message: str) -> None:
    text = tmp_path / "train.de"
    text.write_bytes(content)
    with pytest.raises(UserError) as error:
        list(read_lines(text))
    assert str(error.value) == f"{text}{message}"


@pytest.mark.parametrize(("name", "reason"), [("no.de", "No such file or directory"), ("folder", "Is a directory")])
def test_what_cannot_be_read_is_named(tmp_path: Path, name: str, reason: str) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(UserError, match=rf"^cannot read \S+/{name}: {reason}$"):
        list(read_lines(tmp_path / name))


def write(parts: list[Path], text: str) -> None:
    for part in parts:
        part.write_text(text, encoding="utf-8")


def contents(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text(encoding="utf-8") for path in folder.iterdir() if path.is_file()}


def test_files_are_replaced_together_or_stay_as_they_were(tmp_path: Path) -> None:
    paths = [tmp_path / "a", tmp_path / "b"]
    with complete_files(*paths) as parts:
        write(parts, "old")
    with pytest.raises(KeyboardInterrupt), complete_files(*paths) as parts:
        write(parts, "new")
        raise KeyboardInterrupt
    assert contents(tmp_path) == {"a": "old", "b": "old"}


def test_the_last_file_is_not_there_while_others_are_replaced(tmp_path: Path) -> None:
    paths = [tmp_path / name for name in ("a", "b", "sign")]
    write([paths[0], paths[2]], "old")
    with pytest.raises(IsADirectoryError), complete_files(*paths) as parts:
        write(parts, "new")
        paths[1].mkdir()  # its replacement fails, as a kill between two of them would end it
    assert contents(tmp_path) == {"a": "new"}


def test_the_file_that_a_link_points_to_is_written_and_the_link_stays(tmp_path: Path) -> None:
    (tmp_path / "far").mkdir()
    write([tmp_path / "far" / "old"], "old")
    links = [tmp_path / "link", tmp_path / "dangling", tmp_path / "far" / "relative"]
    for link, target in zip(links, ("far/old", "far/new", "../here"), strict=True):
        link.symlink_to(target)
    with complete_files(*links) as parts:
        write(parts, "new")
    assert all(link.is_symlink() for link in links)
    assert contents(tmp_path / "far") == {"old": "new", "new": "new", "relative": "new"}
    assert contents(tmp_path) == {"link": "new", "dangling": "new", "here": "new"}


def tokenize(text: str, jobs: int, stdout: int, folder: Path) -> subprocess.CompletedProcess[bytes]:
    """Tokenize with a stdout of another kind, buffered as it is for users."""
    (folder / "text").write_text(text, encoding="utf-8")
    command = [
        sys.executable,
        "-m",
        "fairseq_rope_data.tokenize",
        "--lang",
        "de",
        "--jobs",
        str(jobs),
        str(folder / "text"),
    ]
    environment = {**os.environ, "PYTHONUNBUFFERED": ""}
    return subprocess.run(command, cwd=ROOT, env=environment, stdout=stdout, stderr=subprocess.PIPE, check=False)


@pytest.mark.parametrize(("lines", "jobs"), [(1, 1), (20_000, 1), (20_000, 2)])
def test_a_reader_that_has_enough_ends_a_program_quietly_as_it_ends_others(
    tmp_path: Path, lines: int, jobs: int
) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = tokenize("Das ist ein Haus.\n" * lines, jobs, writer, tmp_path)
    os.close(writer)
    assert (done.returncode, done.stderr) == (141, b"")


@pytest.mark.parametrize("lines", [1, 20_000])
def test_a_full_disk_is_an_error_of_one_line(tmp_path: Path, lines: int) -> None:
    with Path("/dev/full").open("wb") as full:
        done = tokenize("Das ist ein Haus.\n" * lines, 1, full.fileno(), tmp_path)
    assert (done.returncode, done.stderr) == (
        1,
        b"tokenize: error: stdout cannot be written: No space left on device\n",
    )


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("tool", ["tokenize", "join_text"])
def test_a_disk_that_fills_up_within_the_last_write_is_an_error(tmp_path: Path, tool: str, unbuffered: str) -> None:
    (tmp_path / "text").write_text("Haus Haus Haus Haus Haus\n" * 400)  # 10,000 bytes in one write, and room for 4 KiB
    arguments = "--lang de --jobs 1 text" if tool == "tokenize" else "text"
    command = f"ulimit -f 4; exec '{sys.executable}' -m fairseq_rope_data.{tool} {arguments} >out"
    environment = {**os.environ, "PYTHONUNBUFFERED": unbuffered, "PYTHONPATH": f"{ROOT}/data-prep"}
    done = subprocess.run(
        ["bash", "-c", command], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (1, f"{tool}: error: stdout cannot be written: File too large\n")


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize(
    ("streams", "status", "stdout", "stderr"),
    [
        ("<text >&-", 1, "", "tokenize: error: stdout closed\n"),
        ("<&-", 1, "", "tokenize: error: stdin closed\n"),
        ("<text 2>&-", 0, "Haus .\n", ""),
        ("<text 2>/dev/full", 0, "Haus .\n", ""),
        ("<latin1 2>&-", 1, "", ""),
        ("<text >&- 2>&-", 1, "", ""),
        ("<text >/dev/full", 1, "", "tokenize: error: stdout cannot be written: No space left on device\n"),
    ],
)
def test_a_stream_that_is_closed_or_full_is_named(
    tmp_path: Path, streams: str, status: int, stdout: str, stderr: str, unbuffered: str
) -> None:
    (tmp_path / "text").write_text("Haus.\n")
    (tmp_path / "latin1").write_bytes(b"\xe4\n")
    program = shlex.join([sys.executable, "-m", "fairseq_rope_data.tokenize", "--lang", "de"])
    environment = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
    done = subprocess.run(
        f"{program} {streams}",
        shell=True,
        cwd=tmp_path,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (status, stdout, stderr)
