"""Logs of fairseq-generate: read in the order of their numbers, refused when they are not whole."""

import pytest

from fairseq_rope.tools._common import ToolError
from fairseq_rope.tools.generate_log import parse_generate_log
from fairseq_rope.tools.metrics import fairseq_bleu
from tests.tools.generate_logs import HYPS, REFS, log_lines


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


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (without("Generate"), "log: unfinished, its last line"),
        (without("H-2", "D-2"), "1 of 5 sentences have no H- line, the first H-2 .there is S-2, T-2.: unfinished"),
        (without("S-2", "T-2", "H-2", "D-2"), "sentence 2 is missing .1 in all., though there is 4"),
        (without("T-2"), "1 of 5 sentences have no T- line, the first T-2"),
        (without("D-4"), "1 of 5 sentences have no D- line, the first D-4"),
        (without("T-"), "no T- lines at all: no references"),
        (without("H-", "D-"), "no H- lines at all: unfinished"),
        (without("S-", "T-", "H-", "D-"), "made with --quiet"),
        (log_lines(HYPS, REFS) * 2, r"log:\d+: S-0 is there twice"),
        ([*without(), "H-5\t-0.5"], r"log:28: H-5 must be a score, a tab and a text: cut off"),
    ],
)
def test_a_log_that_is_not_whole_is_refused(lines: list[str], message: str) -> None:
    with pytest.raises(ToolError, match=message):
        parse_generate_log(lines, "log")


@pytest.mark.parametrize("cut", range(1, 27))
def test_a_log_cut_after_any_line_is_refused(cut: int) -> None:
    lines = log_lines(HYPS, REFS)
    assert len(lines) == 27
    with pytest.raises(ToolError):
        parse_generate_log(lines[:cut], "log")
