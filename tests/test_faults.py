"""What the fault harness itself promises: its failures are told, its seed repeats, its page is its table."""

import io

import pytest

from tests.faults import bad_input
from tests.faults.report import Report
from tests.faults.text import Line, content
from tests.support import ROOT


def test_the_page_has_the_table_of_bad_input():
    page = (ROOT / "docs" / "faults.md").read_text(encoding="utf-8")
    assert page.endswith(f"\n\n{bad_input.table()}\n")


def test_a_message_matches_with_anything_in_place_of_dots_and_nothing_else():
    pattern = bad_input.pattern("--beam must ... but is (0)")
    assert pattern.search("translate: error: --beam must be at least 1, but is (0)")
    assert not pattern.search("translate: error: --beam must be at least 1, but is 0")


def report() -> Report:
    made = Report(7, progress=io.StringIO())
    made.begin("kills")
    return made


def test_a_failure_gives_status_1_and_the_command_that_repeats_it():
    told = report()
    told.passed("1 train")
    assert told.status == 0
    told.failed("2 fetch", "a file is missing")
    assert told.status == 1
    assert "python -m tests.faults --seed 7 --case 2 kills" in told.summary()
    assert told.summary().endswith("seed 7")


def test_no_cases_are_no_success():
    assert report().status == 1


def test_a_case_has_its_own_random_numbers_whatever_the_others_draw():
    first, second = report(), report()
    second.rng(1).random()
    assert first.rng(2).random() == second.rng(2).random() != first.rng(1).random()


@pytest.mark.parametrize("last", [b"", b"c"])
def test_a_file_of_hostile_lines_has_them_all_an_empty_last_one_too(last: bytes):
    lines = [Line(b"a"), Line(b"b"), Line(last)]
    assert [line.rstrip(b"\r\n") for line in io.BytesIO(content(lines))] == [b"a", b"b", last]
