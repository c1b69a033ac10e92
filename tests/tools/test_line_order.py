"""Lines out of order are found when the words say so, and never in what a system, good or bad, wrote in order."""

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from fairseq_rope.tools.detokenise import join_bpe
from fairseq_rope.tools.generate_log import parse_generate_log
from fairseq_rope.tools.line_order import misplaced_lines
from fairseq_rope.tools.textfile import read_lines
from tests.tools.corpora import sentences, system

REFS = sentences(200, seed=1)
GOOD = system(REFS, errors=0.3, seed=2)


def swapped(lines: list[str], first: int, second: int) -> list[str]:
    lines = list(lines)
    lines[first], lines[second] = lines[second], lines[first]
    return lines


def test_two_lines_that_changed_places_are_found_and_nothing_else() -> None:
    found = misplaced_lines(swapped(REFS, 30, 170), REFS)
    assert [(line.hyp, line.ref) for line in found] == [(30, 170), (170, 30)]
    assert [line.hyp for line in misplaced_lines([*REFS[:5], REFS[6], REFS[7], REFS[5], *REFS[8:]], REFS)] == [5, 6, 7]


@pytest.mark.parametrize(
    "change",
    [
        lambda lines: random.Random(3).sample(lines, len(lines)),
        lambda lines: lines[::-1],
        sorted,
        lambda lines: lines[1:] + lines[:1],
        lambda lines: lines[: len(lines) // 2] + lines[len(lines) // 2 + 1 :] + ["x"],
    ],
    ids=["shuffled", "reversed", "sorted", "shifted", "one lost in the middle"],
)
def test_translations_in_another_order_are_found_with_their_true_places(
    change: Callable[[list[str]], list[str]],
) -> None:
    found = misplaced_lines(change(GOOD), REFS)
    true = change([str(i) for i in range(len(GOOD))]) if change is not sorted else None
    assert len(found) > len(GOOD) / 10
    if true:
        right = [true[line.hyp] == str(line.ref) for line in found]
        assert sum(right) > 0.95 * len(right)


def test_casing_and_punctuation_are_no_words() -> None:
    shouted = [f'"{line.upper().replace(" ", " , ")}"' for line in swapped(REFS, 3, 9)]
    assert [line.hyp for line in misplaced_lines(shouted, REFS)] == [3, 9]


@pytest.mark.parametrize("count", [1, 2, 3, 5, 10, 30, 200])
@pytest.mark.parametrize("errors", [0.0, 0.3, 0.6, 0.9, 1.0])
def test_a_system_of_any_quality_is_in_order(errors: float, count: int) -> None:
    for seed in range(10 if count < 200 else 2):
        refs = sentences(count, seed=seed)
        assert misplaced_lines(system(refs, errors=errors, seed=seed), refs) == []


def test_one_sentence_for_all_is_in_order() -> None:
    assert misplaced_lines([REFS[7]] * len(REFS), REFS) == []
    assert misplaced_lines([""] * len(REFS), REFS) == []


def test_phrases_that_a_system_keeps_repeating_say_nothing() -> None:
    first, second = REFS[:2]
    hyps = [f"{second} x", f"{first} y", f"{second} z", f"{first} w", *REFS[4:]]
    assert misplaced_lines(hyps, REFS) == []
    assert len(misplaced_lines([f"{second} x", f"{first} y", *REFS[2:]], REFS)) == 2


def test_a_line_that_may_belong_to_two_others_belongs_to_none() -> None:
    refs = ["one two three", "four five six", "seven eight nine"]
    assert misplaced_lines(["four five six seven eight nine", refs[0], "x"], refs) == []
    assert len(misplaced_lines(["four five six seven eight", refs[0], "x"], refs)) == 2


def test_sentences_that_are_there_twice_may_change_places() -> None:
    refs, lines = REFS * 2, GOOD * 2
    assert misplaced_lines(GOOD + GOOD[::-1], REFS + REFS[::-1]) == []
    assert misplaced_lines(swapped(lines, 7, 207), refs) == []
    assert [line.hyp for line in misplaced_lines(swapped(refs, 7, 120), refs)] == [7, 120]


def read(path: Path) -> list[str]:
    return read_lines(path)


def test_the_real_systems_output_is_in_order_and_its_shuffle_is_not(data_dir: Path) -> None:
    log = parse_generate_log(read(data_dir / "fairseq_generate_logs" / "17-1generate-test.txt.gz"), "log")
    hyps, refs = (join_bpe(lines, "subword_nmt") for lines in (log.hyps, log.refs))
    assert misplaced_lines(hyps, refs) == []
    assert misplaced_lines(hyps[:300], refs[:300]) == []
    assert len(misplaced_lines(random.Random(1).sample(hyps, len(hyps)), refs)) > 1000


@pytest.mark.parametrize(
    ("hyps", "refs"),
    [
        ("multi30k/test_2016_flickr.en.gz", "multi30k/test_2016_flickr.de.gz"),
        ("wmt_newstest_ende/newstest2014.en.gz", "wmt_newstest_ende/newstest2014.de.gz"),
        ("multi30k/val.de.gz", "multi30k/test_2016_flickr.de.gz"),
        ("tatoeba_deu_eng/valid.de.gz", "tatoeba_deu_eng/test.de.gz"),
    ],
    ids=["source copied, captions", "source copied, news", "other captions", "other sentences"],
)
def test_output_that_is_no_translation_is_not_called_out_of_order(data_dir: Path, hyps: str, refs: str) -> None:
    count = 1000
    assert misplaced_lines(read(data_dir / hyps)[:count], read(data_dir / refs)[:count]) == []
