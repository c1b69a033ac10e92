"""aligned: pairs of lines, and the file and line where one side ends before the other."""

from pathlib import Path

import pytest

from fairseq_rope_data.errors import UserError
from fairseq_rope_data.parallel import pairs


def write(folder: Path, en: bytes, de: bytes) -> tuple[Path, Path]:
    source, target = folder / "train.en", folder / "train.de"
    source.write_bytes(en)
    target.write_bytes(de)
    return source, target


def test_lines_of_two_files_are_paired_whether_the_last_newline_is_there_or_not(tmp_path: Path) -> None:
    paths = write(tmp_path, b"one\n\nthree", b"eins\nzwei\n\n")
    assert list(pairs(*paths)) == [("one", "eins"), ("", "zwei"), ("three", "")]


@pytest.mark.parametrize("short", ["en", "de"])
def test_the_first_line_that_one_file_lacks_is_named(tmp_path: Path, short: str) -> None:
    texts = {"en": b"1\n2\n3\n4\n", "de": b"1\n2\n3\n4\n", short: b"1\n2\n"}
    paths = write(tmp_path, texts["en"], texts["de"])
    long = "de" if short == "en" else "en"
    with pytest.raises(UserError) as error:
        list(pairs(*paths))
    assert str(error.value) == (
        f"{tmp_path}/train.{short}:3: there is no such line, but {tmp_path}/train.{long} has one: "
        "parallel files must be aligned"
    )


def test_a_line_that_is_not_utf8_is_named_with_its_own_file(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"train\.de:2: not valid UTF-8, byte 3 is 0xe4$"):
        list(pairs(*write(tmp_path, b"one\ntwo\n", b"eins\nzw\xe4i\n")))


def test_no_more_is_read_than_is_asked_for(tmp_path: Path) -> None:
    found = pairs(*write(tmp_path, b"one\ntwo\nthree\n", b"eins\n\xff\n"))
    assert next(found) == ("one", "eins")
