"""Logs of fairseq-generate: read in the order of their numbers, refused when they are not whole."""

import re

import pytest

from fairseq_rope.scoring.generate_log import parse_generate_log
from fairseq_rope.scoring.metrics import fairseq_bleu
from fairseq_rope_data.errors import UserError
from tests.support.generate_logs import HYPS, REFS, log_lines


def test_a_log_is_read_in_the_order_of_its_numbers() -> None:
    log = parse_generate_log(log_lines(HYPS, REFS), "log")
    assert (log.hyps, log.refs, log.decoded) == (HYPS, REFS, False)
    assert log.summary == fairseq_bleu(HYPS, REFS).text


def test_the_first_of_several_hypotheses_counts() -> None:
    assert parse_generate_log(log_lines(HYPS, REFS, others=2), "log").hyps == HYPS


def test_the_last_line_of_an_old_fairseq_is_known() -> None:
    lines = log_lines(HYPS, REFS)
    lines[-1] = f"2020-01-01 00:00:00 | INFO | fairseq_cli.generate | {lines[-1]}"
    no_decoded = [line for line in lines if not line.startswith("D-")]
    assert parse_generate_log(no_decoded, "log").hyps == HYPS


def without(*starts: str) -> list[str]:
    return [line for line in log_lines(HYPS, REFS) if not line.startswith(starts)]


def with_number(number: str) -> list[str]:
    """The log with another number for its last sentence."""
    return [re.sub(r"^([STHDP])-4\t", rf"\1-{number}\t", line) for line in log_lines(HYPS, REFS)]


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (without("Generate"), "log: unfinished, its last line"),
        (without("H-2", "D-2"), "1 of 5 sentences have no H- line, the first H-2 .there is S-2, T-2.: unfinished"),
        (without("S-2", "T-2", "H-2", "D-2"), "sentence 2 is missing .1 in all., though there is 4 in line"),
        (without("T-2"), "1 of 5 sentences have no T- line, the first T-2"),
        (without("D-4"), "1 of 5 sentences have no D- line, the first D-4"),
        (without("T-"), "no T- lines at all: no references"),
        (without("H-", "D-"), "no H- lines at all: unfinished"),
        (without("S-", "T-", "H-", "D-"), "made with --quiet"),
        (log_lines(HYPS, REFS) * 2, r"log:\d+: S-0 is there twice"),
        (with_number("60000000"), "sentence 4 is missing .59999996 in all., though there is 60000000 in line 19: "),
        (with_number("9" * 18), "sentence 4 is missing .9{17}5 in all., though there is 9{18} in line 19: "),
        (with_number("1" + "0" * 30), r"log:17: S-10{19} must be the number of a sentence: damaged"),
        (with_number("9" * 100_000), r"log:17: S-9{20} must be the number of a sentence: damaged"),
        (with_number("-4"), "log:17: S--4 must be the number of a sentence"),
        (with_number("\u0664"), "log:17: S-\u0664 must be the number of a sentence"),
        ([*without(), "H-5\t-0.5"], r"log:28: H-5 must be a score, a tab and a text: cut off"),
    ],
)
def test_a_log_that_is_not_whole_is_refused(lines: list[str], message: str) -> None:
    with pytest.raises(UserError, match=message):
        parse_generate_log(lines, "log")


@pytest.mark.parametrize("cut", range(1, 27))
def test_a_log_cut_after_any_line_is_refused(cut: int) -> None:
    lines = log_lines(HYPS, REFS)
    assert len(lines) == 27
    with pytest.raises(UserError):
        parse_generate_log(lines[:cut], "log")
