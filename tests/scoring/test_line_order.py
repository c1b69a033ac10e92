"""Lines out of order are found when the words say so, and never in what a system, good or bad, wrote in order."""

import random
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest

from fairseq_rope.scoring.detokenize import join_bpe
from fairseq_rope.scoring.generate_log import parse_generate_log
from fairseq_rope.scoring.line_order import Misplaced, line_order
from fairseq_rope.scoring.text import read_lines
from tests.support.corpora import sentences, system

REFS = sentences(200, seed=1)
GOOD = system(REFS, errors=0.3, seed=2)


def misplaced_lines(hyps: list[str], refs: list[str]) -> list[Misplaced]:
    return line_order(hyps, refs).misplaced


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


def shifted(lines: list[str], first: int, by: int = 1) -> list[str]:
    """Lose `by` lines from `first` on and repeat the last ones."""
    return lines[:first] + lines[first + by :] + lines[-by:]


def shuffled(lines: list[str], share: float) -> list[str]:
    """Let a share of the lines change places."""
    dice, lines = random.Random(5), list(lines)
    places = dice.sample(range(len(lines)), int(share * len(lines)))
    for place, line in zip(places, [lines[place] for place in places[1:] + places[:1]], strict=True):
        lines[place] = line
    return lines


def slid(lines: list[str], share: float) -> list[str]:
    """Let a share of the lines begin with the second half of the line before, as where subtitles are cut elsewhere."""
    dice, words = random.Random(6), [line.split() for line in lines]
    for before, own in pairwise(words):
        if dice.random() < share:
            own[:0] = before[len(before) // 2 :]
    return [" ".join(line) for line in words]


BROKEN = {
    "shifted from the start": lambda lines: shifted(lines, 0),
    "shifted by 40": lambda lines: shifted(lines, 0, 40),
    "shifted from the middle": lambda lines: shifted(lines, len(lines) // 2),
    "the last tenth shifted": lambda lines: shifted(lines, len(lines) * 9 // 10),
    "the last twentieth shifted by 3": lambda lines: shifted(lines, len(lines) * 95 // 100, 3),
    "the last 20 shifted": lambda lines: shifted(lines, len(lines) - 20),
    "20 in the middle moved up": lambda lines: [*lines[:300], lines[320], *lines[300:320], *lines[321:]],
    "a tenth shuffled": lambda lines: shuffled(lines, 0.1),
    "half shuffled": lambda lines: shuffled(lines, 0.5),
    "all shuffled": lambda lines: shuffled(lines, 1),
    "sorted": sorted,
}
NOTED = {
    "two neighbors swapped": lambda lines: swapped(lines, 400, 401),
    "two swapped": lambda lines: swapped(lines, 40, 401),
    "ten swapped": lambda lines: [*lines[:95], *(lines[i ^ 1] for i in range(95, 105)), *lines[105:]][: len(lines)],
    "a hundredth shuffled": lambda lines: shuffled(lines, 0.01),
    "a thirtieth shuffled": lambda lines: shuffled(lines, 1 / 30),
}
Change = Callable[[list[str]], list[str]]


@pytest.mark.parametrize("change", BROKEN.values(), ids=BROKEN)
@pytest.mark.parametrize("errors", [0.0, 0.3])
def test_a_shift_or_a_shuffle_breaks_the_order(change: Change, errors: float) -> None:
    refs = sentences(600, seed=8, vocabulary=4000)
    assert line_order(change(system(refs, errors=errors, seed=9)), refs).broken


@pytest.mark.parametrize("change", NOTED.values(), ids=NOTED)
def test_few_lines_out_of_order_are_told_and_do_not_break_it(change: Change) -> None:
    refs = sentences(600, seed=8, vocabulary=4000)
    found = line_order(change(refs), refs)
    moved = {i for i, (line, ref) in enumerate(zip(change(refs), refs, strict=True)) if line != ref}
    assert not found.broken
    assert found.misplaced and {line.hyp for line in found.misplaced} <= moved


def test_neighbors_that_nearly_paraphrase_each_other_do_not_break_it() -> None:
    refs = sentences(100, seed=8)
    text = "the minister said on Tuesday that the talks would {} at the earliest in spring"
    refs[50:52] = [text.format("go on again"), text.format("be resumed anew")]
    hyps = system(refs, errors=0.3, seed=9)
    hyps[50:52] = [refs[51], refs[50]]
    found = line_order(hyps, refs)
    assert ([(line.hyp, line.ref) for line in found.misplaced], found.broken) == ([(50, 51), (51, 50)], False)


def test_words_that_slid_into_the_next_line_do_not_break_it() -> None:
    refs = sentences(600, seed=8, vocabulary=4000)
    assert not line_order(slid(system(refs, errors=0.3, seed=9), 0.3), refs).broken


@pytest.mark.parametrize("count", [8, 20, 100])
def test_a_shift_is_seen_in_a_small_set_too(count: int) -> None:
    refs = sentences(count, seed=8)
    assert line_order(shifted(system(refs, errors=0.2, seed=9), 0), refs).broken


def test_a_shift_is_seen_where_sentences_are_there_many_times() -> None:
    refs = sentences(300, seed=8) * 3
    found = line_order(shifted(refs, 880), refs)
    assert found.broken and {line.hyp for line in found.misplaced} <= set(range(880, 900))


def read(path: Path) -> list[str]:
    return read_lines(path)


def test_the_real_systems_output_is_in_order_and_its_shuffle_is_not(data_dir: Path) -> None:
    log = parse_generate_log(read(data_dir / "fairseq_generate_logs" / "17-1generate-test.txt.gz"), "log")
    hyps, refs = (join_bpe(lines, "subword_nmt") for lines in (log.hyps, log.refs))
    assert misplaced_lines(hyps, refs) == []
    assert misplaced_lines(hyps[:300], refs[:300]) == []
    assert len(misplaced_lines(random.Random(1).sample(hyps, len(hyps)), refs)) > 1000


REAL = {
    "news": "wmt_newstest_ende/newstest2014.de.gz",
    "talks": "ted_talks_deen/TED.tst2012.en",
    "captions": "multi30k/test_2016_flickr.de.gz",
    "everyday sentences": "tatoeba_deu_eng/test.en.gz",
    "near paraphrases": "tatoeba_deu_eng/train.de.gz",
}


@pytest.fixture(scope="module", params=REAL.values(), ids=REAL)
def real(request: pytest.FixtureRequest, data_dir: Path) -> tuple[list[str], list[str]]:
    """A thousand translations with about 30 BLEU, and their references; for paraphrases neighbors in the alphabet."""
    lines = read(data_dir / request.param)
    refs = (sorted(lines, key=str.lower)[80_000:] if "train" in request.param else lines)[:1000]
    return system(refs, errors=0.25, seed=9), refs


def test_what_a_system_makes_of_real_text_is_in_order(real: tuple[list[str], list[str]]) -> None:
    hyps, refs = real
    assert line_order(hyps, refs).misplaced == []
    assert not line_order(slid(hyps, 0.2), refs).broken


@pytest.mark.parametrize("change", [change for name, change in NOTED.items() if "third" not in name])
def test_few_real_lines_out_of_order_do_not_break_it(real: tuple[list[str], list[str]], change: Change) -> None:
    assert not line_order(change(real[0]), real[1]).broken


@pytest.mark.parametrize("name", [name for name in BROKEN if "20" not in name and "tenth sh" not in name])
def test_real_text_that_is_shifted_or_shuffled_breaks_it(
    real: tuple[list[str], list[str]], name: str, request: pytest.FixtureRequest
) -> None:
    found = line_order(BROKEN[name](real[0]), real[1])
    assert found.broken or ("paraphrases" in request.node.name and "twentieth" in name)


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
