"""fairseq_rope_data.segment: characters, words, the vocabulary of both, and what a vocabulary lacks."""

import random
from pathlib import Path

import pytest

from tests.support.program import run_program

LINES = "原告张三，男，1987年生。\n\n今天天气非常好 abc Größe．\n"


def split(monkeypatch: pytest.MonkeyPatch, text: str, *options: str) -> list[str]:
    done = run_program(monkeypatch, "segment", "split", "--jobs", "1", *options, stdin=text.encode())
    assert (done.status, done.stderr) == (0, "")
    return done.stdout.decode().split("\n")[:-1]


def test_characters_are_tokens_and_latin_words_and_numbers_stay_whole(monkeypatch: pytest.MonkeyPatch):
    first, blank, last = split(monkeypatch, LINES, "--unit", "characters")
    assert first == "原 告 张 三 ， 男 ， 1987 年 生 。" and blank == ""
    assert last == "今 天 天 气 非 常 好 abc Größe ．"
    assert split(monkeypatch, "A\u0308b x\u3000y\n", "--unit", "characters", "--lowercase") == ["a\u0308b x y"]
    assert split(monkeypatch, "<s> <mask>\n", "--unit", "characters") == ["< s > < mask >"]


def test_words_are_those_of_jieba_without_guesses_and_nothing_is_lost(monkeypatch: pytest.MonkeyPatch):
    first, blank, last = split(monkeypatch, LINES, "--unit", "words")
    assert blank == "" and "今天天气 非常 好" in last and "1987 年" in first
    for line, tokens in zip(LINES.split("\n"), (first, blank, last), strict=False):
        assert tokens.replace(" ", "") == "".join(line.split())


@pytest.mark.parametrize("seed", range(3))
def test_a_vocabulary_has_the_most_frequent_units_and_the_characters_of_each(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
):
    dice = random.Random(seed)
    words = ["".join(dice.choices("abcdefgh", k=dice.randint(1, 3))) for _ in range(40)]
    text = [" ".join(dice.choices(words, range(1, 41), k=9)) for _ in range(60)]
    (tmp_path / "text").write_text("\n".join(text) + "\n")
    done = run_program(monkeypatch, "segment", "learn", "--size", 20, "--min-count", 3, tmp_path / "text")
    found = {line.split()[0]: int(line.split()[1]) for line in done.stdout.decode().splitlines()}
    tokens = " ".join(text).split()
    units = {*tokens, *"".join(tokens)}
    counts = {unit: sum(t.count(unit) if len(unit) == 1 else t == unit for t in tokens) for unit in units}
    assert all(counts[unit] == count >= 3 for unit, count in found.items())
    assert len(found) == 20 and max(counts[unit] for unit in units - found.keys()) <= min(found.values())
    assert all(character in found for unit in found for character in unit)


def test_of_units_that_are_equally_frequent_characters_come_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "text").write_text("xy xy\n")
    done = run_program(monkeypatch, "segment", "learn", "--size", 2, tmp_path / "text")
    assert done.stdout == b"x 2\ny 2\n"


def test_a_token_that_is_not_there_becomes_its_characters_and_a_character_unknown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "vocabulary").write_text("天 5\n气 4\n天气 3\n")
    text = "天气 气天 好天气\n\n天 <unk>\n".encode()
    done = run_program(monkeypatch, "segment", "apply", "--vocab", tmp_path / "vocabulary", "--jobs", 1, stdin=text)
    assert done.stdout.decode().split("\n")[:3] == ["天气 气 天 <unk> 天 气", "", "天 " + " ".join(["<unk>"] * 5)]


BAD = {
    "no unit": (("split",), b"", 2, "the following arguments are required: --unit"),
    "a size of 0": (("learn", "--size", "0", "FILE"), b"a a\n", 1, "--size must be at least 1, but is 0"),
    "a count of 0": (("learn", "--min-count", "0", "FILE"), b"a a\n", 1, "--min-count must be at least 1, but is 0"),
    "nothing twice": (("learn", "FILE"), b"a b\n", 1, "FILE: no character occurs 2 times (--min-count)"),
    "not UTF-8": (("learn", "FILE"), b"a\n\xff\n", 1, "FILE:2: not valid UTF-8, byte 1 is 0xff"),
    "not UTF-8 to split": (
        ("split", "--unit", "characters", "--jobs", "1", "FILE"),
        b"a\n\xff\n",
        1,
        "FILE:2: not valid UTF-8, byte 1 is 0xff",
    ),
    "no vocabulary": (("apply", "--vocab", "FILE"), b"", 1, "--vocab FILE is empty"),
    "another file": (
        ("apply", "--vocab", "FILE"),
        b"a 3\na b c\n",
        1,
        "--vocab FILE:2: must be a token and its count, but is 'a b c'",
    ),
    "a token twice": (("apply", "--vocab", "FILE"), b"a 3\na 2\n", 1, "--vocab FILE:2: must be a token and its count"),
}


@pytest.mark.parametrize(("arguments", "data", "status", "message"), BAD.values(), ids=BAD)
def test_bad_input_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], data: bytes, status: int, message: str
):
    path = tmp_path / "file"
    path.write_bytes(data)
    done = run_program(monkeypatch, "segment", *(str(path) if word == "FILE" else word for word in arguments))
    assert done.status == status and message.replace("FILE", str(path)) in done.error, done.stderr


def test_words_without_rjieba_are_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(__import__("sys").modules, "rjieba", None)
    done = run_program(monkeypatch, "segment", "split", "--unit", "words", stdin=b"a\n")
    assert done.error == ("segment: error: to split Chinese into words needs rjieba: pip install 'fairseq-rope[data]'")


def test_real_judgments_keep_every_character(data_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    import gzip

    with gzip.open(data_dir / "zh_legal_text" / "zh_legal.txt.gz", "rt", encoding="utf-8") as file:
        lines = [next(file) for _ in range(60)]
    for unit in ("characters", "words"):
        tokens = split(monkeypatch, "".join(lines), "--unit", unit)
        assert [line.replace(" ", "") for line in tokens] == ["".join(line.split()) for line in lines]
    (tmp_path / "tokens").write_text("\n".join(tokens) + "\n", encoding="utf-8")
    done = run_program(monkeypatch, "segment", "learn", "--min-count", 1, tmp_path / "tokens")
    (tmp_path / "vocabulary").write_bytes(done.stdout)
    given = ("--vocab", tmp_path / "vocabulary", "--jobs", 1, tmp_path / "tokens")
    assert run_program(monkeypatch, "segment", "apply", *given).stdout.decode().split("\n")[:-1] == tokens
