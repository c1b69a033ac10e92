"""fairseq_rope_data.learn_bpe: Sennrich et al.'s merges, in subword-nmt's form."""

import io
import os
import random
import subprocess
import sys
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest
from subword_nmt.apply_bpe import BPE
from subword_nmt.learn_bpe import learn_bpe

from tests.support.corpora import sentences
from tests.support.program import Done, run_program


def write(folder: Path, **texts: list[str]) -> list[Path]:
    paths = [folder / name for name in texts]
    for path, lines in zip(paths, texts.values(), strict=True):
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return paths


def learn(monkeypatch: pytest.MonkeyPatch, merges: object, files: list[Path]) -> Done:
    return run_program(monkeypatch, "learn_bpe", "--merges", merges, *files)


def pairs(codes: str) -> list[tuple[str, ...]]:
    return [tuple(line.split(" ")) for line in codes.splitlines()[1:]]


def slow_merges(lines: list[str], merges: list[tuple[str, ...]]) -> list[tuple[int, int]]:
    """Apply merges one by one; before each, count how often its pair occurs, and the most frequent pair."""
    words = {(*word[:-1], f"{word[-1]}</w>"): n for word, n in Counter(" ".join(lines).split()).items()}
    found = []
    for pair in merges:
        counts: Counter[tuple[str, ...]] = Counter()
        for word, n in words.items():
            for both in pairwise(word):
                counts[both] += n
        found.append((counts[pair], max(counts.values())))
        merged: dict[tuple[str, ...], int] = {}
        for word, n in words.items():
            symbols = list(word)
            i = 0
            while i < len(symbols) - 1:
                if (symbols[i], symbols[i + 1]) == pair:
                    symbols[i : i + 2] = ["".join(pair)]
                i += 1
            merged[tuple(symbols)] = merged.get(tuple(symbols), 0) + n
        words = merged
    return found


def test_each_merge_is_of_the_most_frequent_pair(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    lines = [*sentences(200, seed=1), "Größe „ja“ aaa aaaa"]
    done = learn(monkeypatch, 60, write(tmp_path, en=lines[:100], de=lines[100:]))
    assert done.stdout.startswith(b"#version: 0.2\n")
    merges = pairs(done.stdout.decode())
    assert len(merges) == 60
    for occurs, most in slow_merges(lines, merges):
        assert occurs == most


def test_text_is_split_into_as_many_pieces_as_by_subword_nmts_own_merges(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    lines = sentences(1000, seed=2)
    codes, theirs = learn(monkeypatch, 150, write(tmp_path, text=lines)).stdout.decode(), io.StringIO()
    learn_bpe(io.StringIO("\n".join(lines)), theirs, 150)
    theirs.seek(0)
    ours, expected = (
        sum(len(bpe.segment(line).split()) for line in lines) for bpe in (BPE(io.StringIO(codes)), BPE(theirs))
    )
    assert abs(ours - expected) <= 0.01 * expected


def test_the_same_text_gives_the_same_merges_in_every_process(tmp_path: Path) -> None:
    # words of random letters: most pairs are as frequent as some other
    dice = random.Random(1)
    lines = [" ".join("".join(dice.choices("abcdefghijklmnopqrst", k=5)) for _ in range(20)) for _ in range(300)]
    command = [sys.executable, "-m", "fairseq_rope_data.learn_bpe", "--merges", "300"]
    command += map(str, write(tmp_path, text=lines))
    several = {**os.environ, "RAYON_NUM_THREADS": "4"}  # whose results are joined in any order
    runs = [subprocess.run(command, capture_output=True, check=True, env=several).stdout for _ in range(5)]
    assert len(runs[0].splitlines()) == 301 and len(set(runs)) == 1


def test_many_characters_leave_as_many_merges(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    # 3,000 characters, each pair twice
    lines = [f"{chr(0x4E00 + i)}{chr(0x4E01 + i)}" for i in range(0, 3000, 2)] * 2
    assert len(pairs(learn(monkeypatch, 1400, write(tmp_path, text=lines)).stdout.decode())) == 1400


@pytest.mark.parametrize(
    ("merges", "text", "message"),
    [
        (0, ["ab ab"], "--merges must be at least 1, but is 0"),
        (5, ["ab cd"], "no pair of characters occurs twice"),
    ],
    ids=["no merges", "nothing to learn"],
)
def test_what_cannot_be_learned_is_an_error(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, merges: int, text: list[str], message: str
) -> None:
    done = learn(monkeypatch, merges, write(tmp_path, text=text))
    assert done.status == 1 and message in done.error and done.stdout == b""
