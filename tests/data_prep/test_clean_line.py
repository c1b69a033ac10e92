"""Any bytes become text of one line, and every change is told."""

import io

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairseq_rope_data.clean_line import byte_lines, clean_line, one_line


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (b"", ""),
        (b" \t\xc2\xa0\n", ""),
        (b"Anna sees.\r\n", "Anna sees."),
        (b"Anna\tsees.\n", "Anna\tsees."),
        ("Gr\u00fc\u00dfe \U0001f600", "Gr\u00fc\u00dfe \U0001f600"),
        ("\ufffd is valid".encode(), "\ufffd is valid"),
    ],
)
def test_ordinary_lines_are_only_stripped(raw: bytes | str, text: str) -> None:
    assert clean_line(raw, max_chars=99) == (text, [])


@pytest.mark.parametrize(
    ("raw", "text", "note"),
    [
        (b"a\xffb \xe2\x82 \xef\xbf\xbd", "a\ufffdb \ufffd \ufffd", "invalid UTF-8 replaced by U+FFFD: 2"),
        ("a\ud800b", "a\ufffdb", "invalid UTF-8 replaced by U+FFFD: 1"),
        (b"a\x00b\rc\x1cd\x0be\n", "a b c d e", "control characters replaced by spaces: 4"),
        ("a\x85b\u2028c\u2029d\ne", "a b c d e", "control characters replaced by spaces: 4"),
        (b"x" * 8, "xxxxx", "cut from 8 to 5 characters, before tokenization"),
    ],
)
def test_what_is_replaced_or_cut_is_noted(raw: bytes | str, text: str, note: str) -> None:
    assert clean_line(raw, max_chars=5 if note.startswith("cut") else 99) == (text, [note])


@settings(deadline=None)
@given(st.binary() | st.text())
def test_no_line_end_is_left_and_the_text_can_be_written(raw: bytes | str) -> None:
    for text in (clean_line(raw, max_chars=50).text, one_line(raw if isinstance(raw, str) else raw.decode("latin-1"))):
        assert len(text.splitlines()) <= 1
        if isinstance(raw, bytes):
            text.encode()


def test_a_file_is_split_at_line_feeds_only_and_loses_its_byte_order_mark() -> None:
    data = "\ufeffa\x85b\rc\u2028d\n\ufeffe".encode()
    assert [line.decode() for line in byte_lines(io.BytesIO(data))] == ["a\x85b\rc\u2028d\n", "\ufeffe"]
