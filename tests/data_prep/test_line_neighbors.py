"""Whether neighboring lines belong together: text in order does, and shuffled, sorted or collected lines do not."""

import gzip
import random
from pathlib import Path

import pytest

from fairseq_rope_data.line_neighbors import belong_together
from tests.support.program import run_program


def write(path: Path, lines: list[str]) -> None:
    path.write_bytes("".join(f"{line}\n" for line in lines).encode())


CORPORA = ("ted_talks_deen/TED.tst2010.de", "europarl20k/europarl20k.en.gz", "wmt_newstest_ende/newstest2014.en.gz")


@pytest.mark.parametrize("name", CORPORA)
def test_real_text_in_order_passes_and_shuffled_or_sorted_does_not(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, data_dir: Path, name: str
) -> None:
    data = (data_dir / name).read_bytes()
    ordered = (gzip.decompress(data) if name.endswith(".gz") else data).decode().split("\n")[:2000]
    shuffled = random.Random(1).sample(ordered, len(ordered))
    for lines, status in ((ordered, 0), (ordered[:300], 0), (shuffled, 1), (shuffled[:300], 1), (sorted(ordered), 1)):
        write(tmp_path / "in.en", lines)
        done = run_program(
            monkeypatch, "windows", "make", *("--source-lang", "en", "--size", 3, tmp_path / "in", tmp_path / "out")
        )
        assert done.status == status
        assert status == 0 or "its order looks lost" in done.error


def story(lines: int) -> list[str]:
    """Text in order: each line names what the one before named."""
    return [f"{'this' if i % 2 else 'that'} x{i // 3} saw what y{i // 2} did" for i in range(lines)]


@pytest.mark.parametrize(("first", "last"), [(0, 2100), (4000, 6100), (8000, 10000)], ids=str)
def test_order_that_is_lost_in_a_part_of_the_text_is_seen(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, first: int, last: int
) -> None:
    lines = story(10_000)
    prefix = tmp_path / "raw"
    check = ("check", "--source-lang", "en", prefix)
    write(tmp_path / "raw.en", lines)
    assert run_program(monkeypatch, "windows", *check).status == 0
    lines[first:last] = random.Random(1).sample(lines[first:last], last - first)
    write(tmp_path / "raw.en", lines)
    done = run_program(monkeypatch, "windows", *check)
    begin = {0: 1, 4000: 4001, 8000: 8001}[first]
    assert done.status == 1
    assert done.error.startswith(f"windows: error: {prefix}.en: its order looks lost from line {begin:,} on: ")
    assert run_program(monkeypatch, "windows", *check, "--any-order").status == 0


def test_few_lines_are_taken_in_any_order() -> None:
    lines = [f"word{i}" for i in range(100)]
    assert belong_together(lines[:99]) and not belong_together(lines)
