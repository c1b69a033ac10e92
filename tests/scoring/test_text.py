"""Text files, plain or gzipped: what ends a line, and files that cannot be read."""

import gzip
from pathlib import Path

import pytest

from fairseq_rope.scoring.text import read_lines
from fairseq_rope_data.errors import UserError


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "file is empty"),
        (b"good\nb\xc3\xa4d: \xff\n", "file:2: not valid UTF-8, byte 7 is 0xff"),
        (gzip.compress(b"line\n" * 1000)[:-9], "cannot read .*file: its gzip data is truncated or corrupt"),
        (b"\x1f\x8bnonsense", "cannot read .*file: its gzip data is truncated or corrupt"),
        (None, "cannot read .*file: there is no such file"),
    ],
    ids=["empty", "not UTF-8", "truncated gzip", "not gzip", "missing"],  # gzip's bytes hold the time: no id for xdist
)
def test_a_file_that_cannot_be_read_is_named(data: bytes | None, message: str, tmp_path: Path) -> None:
    path = tmp_path / "file"
    if data is not None:
        path.write_bytes(data)
    with pytest.raises(UserError, match=message):
        read_lines(path)


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_a_byte_order_mark_is_no_text(pack: type, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(pack("\ufeffa\n\ufeffb\n".encode()))
    assert read_lines(tmp_path / "file") == ["a", "\ufeffb"]


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_only_line_ends_end_a_line(pack: type, tmp_path: Path) -> None:
    text = "a\u2028b\x85c\r\n\n\x0cd\re"
    (tmp_path / "file").write_bytes(pack(text.encode()))
    assert read_lines(tmp_path / "file") == ["a\u2028b\x85c", "", "\x0cd\re"]
