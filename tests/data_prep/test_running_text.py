"""join_text and check_text: several files as one text, and what is no text by file and line."""

import gzip
from pathlib import Path

import pytest

from fairseq_rope_data.join_text import lines_of
from tests.support.program import run_program


def test_files_are_one_text_in_their_order_each_with_a_line_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    files = {"a": b"\xef\xbb\xbfone\ntwo", "b": "drei größer\n".encode(), "c.gz": gzip.compress(b"four\n\n")}
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
    done = run_program(monkeypatch, "join_text", *(tmp_path / name for name in ("b", "a", "c.gz", "c")))
    assert (done.status, done.stdout.decode()) == (0, "drei größer\none\ntwo\nfour\n\nfour\n\n"), done.stderr


def test_a_character_on_the_border_of_two_chunks_is_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    text = "a" * ((1 << 20) - 1) + "ö\n"
    (tmp_path / "long").write_text(text, encoding="utf-8")
    assert run_program(monkeypatch, "join_text", tmp_path / "long").stdout.decode() == text


@pytest.mark.parametrize("text", [b"", b"a", b"a\n", b"\n\na", b"abc\n\nde\nf\n"])
@pytest.mark.parametrize("size", [1, 2, 5])
def test_lines_do_not_depend_on_the_chunks_that_they_come_in(text: bytes, size: int):
    chunks = [text[start : start + size] for start in range(0, len(text), size)]
    assert list(lines_of(chunks)) == [line.removesuffix(b"\n") for line in text.splitlines(keepends=True)]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"good\nb\xe9d\n", ":2: not valid UTF-8, byte 2 is 0xe9"),
        (b"good\nhalf of a character \xc3", ":2: not valid UTF-8, byte 21 is 0xc3"),
        (b"", " has no text"),
        (b" \n\t\n", " has no text"),
        ("\u3000\n\u2028\n".encode(), " has no text"),
        (b"\xef\xbb\xbf\n<!DOCTYPE html>\n", " is an HTML page, such as a server's error message, and not text"),
    ],
    ids=["another encoding", "cut off", "empty", "blank", "blank beyond ASCII", "a page"],
)
@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzip"])
@pytest.mark.parametrize("program", ["join_text", "check_text"])
def test_what_is_no_text_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: str, packed: bool, data: bytes, message: str
):
    (tmp_path / "good").write_bytes(b"text\n")
    bad = tmp_path / ("bad.gz" if packed and program == "join_text" else "bad")
    bad.write_bytes(gzip.compress(data) if bad.suffix else data)
    done = run_program(monkeypatch, program, tmp_path / "good", bad)
    assert (done.status, done.error) == (1, f"{program}: error: {bad}{message}")


@pytest.mark.parametrize("program", ["join_text", "check_text"])
def test_a_missing_file_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: str):
    done = run_program(monkeypatch, program, tmp_path / "nowhere")
    assert done.status == 1 and f"{tmp_path}/nowhere" in done.error


@pytest.mark.parametrize("folder", [".", "/"])
@pytest.mark.parametrize("program", ["join_text", "check_text"])
def test_a_folder_without_a_name_of_its_own_is_no_text(monkeypatch: pytest.MonkeyPatch, program: str, folder: str):
    done = run_program(monkeypatch, program, folder)
    assert (done.status, done.error) == (1, f"{program}: error: cannot read {folder}: Is a directory")


def test_lines_with_text_are_counted_and_the_same_text_twice_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    for name, text in (("train", "a\n\nb\n"), ("valid", "c\n"), ("again", "a\n\nb")):
        (tmp_path / name).write_text(text)
    done = run_program(monkeypatch, "check_text", tmp_path / "train", tmp_path / "valid")
    assert done.stdout.decode() == f"{tmp_path}/train: 2 lines\n{tmp_path}/valid: 1 lines\n"
    done = run_program(monkeypatch, "check_text", tmp_path / "train", tmp_path / "again")
    assert done.error == f"check_text: error: {tmp_path}/train and {tmp_path}/again are the same text"
