"""fairseq_rope_data.clean_corpus: which pairs are dropped, by which rule, and counts that add up."""

import json
import random
import re
from collections import Counter
from fractions import Fraction
from pathlib import Path

import pytest

from tests.support.program import Done, run_program

SPACES = [" ", " ", " ", "  ", "\t", "\u00a0", "\u2028", "\r", "\x85"]


def line(dice: random.Random, length: int) -> str:
    """A line of so many tokens, with white space of all kinds between and around them."""
    space = [dice.choice(SPACES) for _ in range(length + 1)]
    return dice.choice(["", space[0]]) + "".join(f"wört{i}{space[i]}" for i in range(length))


@pytest.fixture(scope="module")
def corpus() -> list[tuple[str, str]]:
    """Pairs whose lengths lie on both sides of each limit that the tests set."""
    dice = random.Random(1)
    return [(line(dice, dice.randint(0, 14)), line(dice, dice.randint(0, 14))) for _ in range(2_000)]


def write(prefix: Path, corpus: list[tuple[str, str]]) -> None:
    for side, lang in enumerate(("en", "de")):
        text = "".join(f"{pair[side]}\n" for pair in corpus)
        prefix.with_suffix(f".{lang}").write_bytes(text.encode())


def clean(monkeypatch: pytest.MonkeyPatch, folder: Path, *options: object) -> Done:
    """Run it from folder/in to folder/out."""
    sides = ("--source-lang", "en", "--target-lang", "de")
    return run_program(monkeypatch, "clean_corpus", *sides, *options, folder / "in", folder / "out")


def rule(source: str, target: str, shortest: int, longest: int, ratio: Fraction) -> str:
    """The rules once more, slowly: tokens by a pattern, the ratio in whole numbers."""
    lengths = [len(re.findall(r"\S+", text)) for text in (source, target)]
    if any(length < shortest for length in lengths):
        return "min_length"
    if any(length > longest for length in lengths):
        return "max_length"
    products = [lengths[0] * ratio.denominator, lengths[1] * ratio.denominator]
    wide = products[0] > lengths[1] * ratio.numerator or products[1] > lengths[0] * ratio.numerator
    return "max_ratio" if wide else "kept"


@pytest.mark.parametrize(
    ("options", "limits"),
    [
        ((), (1, 250, Fraction(3, 2))),
        (("--min-length", 3, "--max-length", 12, "--max-ratio", 2), (3, 12, Fraction(2))),
        (("--max-length", 9, "--max-ratio", "inf"), (1, 9, Fraction(1_000))),
        (("--max-ratio", 1), (1, 250, Fraction(1))),
    ],
    ids=["defaults", "all rules", "any ratio", "equal lengths"],
)
def test_the_pairs_that_keep_to_all_rules_are_copied_and_each_other_is_counted_once(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    corpus: list[tuple[str, str]],
    options: tuple[object, ...],
    limits: tuple[int, int, Fraction],
) -> None:
    write(tmp_path / "in", corpus)
    done = clean(monkeypatch, tmp_path, *options)
    assert (done.status, done.stderr) == (0, "")
    expected = Counter(rule(*pair, *limits) for pair in corpus)
    kept = [pair for pair in corpus if rule(*pair, *limits) == "kept"]
    for side, lang in enumerate(("en", "de")):
        assert (tmp_path / f"out.{lang}").read_bytes().decode().split("\n") == [*(pair[side] for pair in kept), ""]
    facts = json.loads((tmp_path / "out.clean.json").read_text(encoding="utf-8"))
    assert facts["dropped"] == {name: expected[name] for name in ("min_length", "max_length", "max_ratio")}
    assert facts["kept"] == len(kept) and facts["read"] == 2_000 == sum(facts["dropped"].values()) + facts["kept"]
    # the table: five rows, whose last four add up to the first
    table = [
        int(re.findall(r"([\d,]+) +[\d.]+%", row)[0].replace(",", "")) for row in done.stdout.decode().splitlines()
    ]
    assert table == [2_000, *facts["dropped"].values(), len(kept)]


@pytest.mark.parametrize(
    ("target", "message"),
    [
        (b"eins\nzwei\n", "OUT/in.de:3: there is no such line, but OUT/in.en has one: parallel files must be aligned"),
        (b"eins\nzwei\n\xffdrei\n", "OUT/in.de:3: not valid UTF-8, byte 1 is 0xff"),
        (b"\n\n\n", "no pair of OUT/in.en and OUT/in.de is left of 3"),
    ],
    ids=["unaligned", "not UTF-8", "blank"],
)
def test_an_error_in_the_last_line_leaves_no_new_file_and_the_old_ones(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, target: bytes, message: str
) -> None:
    (tmp_path / "in.en").write_bytes(b"one\ntwo\nthree\n")
    (tmp_path / "in.de").write_bytes(target)
    (tmp_path / "out.en").write_bytes(b"old\n")
    done = clean(monkeypatch, tmp_path)
    assert (done.status, done.stderr) == (1, f"clean_corpus: error: {message}\n".replace("OUT", str(tmp_path)))
    assert {path.name for path in tmp_path.iterdir()} == {"in.en", "in.de", "out.en"}
    assert (tmp_path / "out.en").read_bytes() == b"old\n"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--min-length", 0), "--min-length must be from 1 to --max-length 250, but is 0"),
        (("--min-length", 9, "--max-length", 8), "--min-length must be from 1 to --max-length 8, but is 9"),
        (("--max-ratio", 0.9), "--max-ratio must be at least 1, but is 0.9"),
        (("--max-ratio", "nan"), "--max-ratio must be at least 1, but is nan"),
        (("--target-lang", "en"), "--source-lang and --target-lang must differ, but are both en"),
    ],
    ids=["no length", "no length between", "ratio", "no number", "one language"],
)
def test_an_option_that_breaks_its_rule_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, options: tuple[object, ...], message: str
) -> None:
    write(tmp_path / "in", [("one", "eins")])
    done = clean(monkeypatch, tmp_path, *options)
    assert (done.status, done.stderr) == (1, f"clean_corpus: error: {message}\n")
    assert {path.name for path in tmp_path.iterdir()} == {"in.en", "in.de"}


def test_a_corpus_is_not_cleaned_into_itself(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    write(tmp_path / "in", [("one", "eins"), ("", "")])
    names = (tmp_path / "in", tmp_path / ".." / tmp_path.name / "in")
    done = run_program(monkeypatch, "clean_corpus", "--source-lang", "en", "--target-lang", "de", *names)
    message = f"{names[1]}.en would be written in the place of {names[0]}.en, which is read"
    assert done.stderr == f"clean_corpus: error: {message}\n"
    assert (tmp_path / "in.en").read_bytes() == b"one\n\n"


def test_one_side_that_would_be_written_over_is_enough(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    write(tmp_path / "in", [("one", "eins"), ("", "")])
    (tmp_path / "out.de").symlink_to("in.de")
    done = clean(monkeypatch, tmp_path)
    assert done.status == 1 and "out.de would be written in the place of" in done.stderr
    assert (tmp_path / "in.de").read_bytes() == b"eins\n\n" and not (tmp_path / "out.en").exists()
