"""scripts/benchmark_prepare.py: the text that it makes, what it measures, the laws it extrapolates by; and a run."""

import gzip
import json
import re
import subprocess
import sys
import time
from itertools import islice
from pathlib import Path

import pytest

from benchmarks.preparation.corpus import real_pairs, repeated, write
from benchmarks.preparation.extrapolation import Point, linear, power, seconds
from benchmarks.preparation.process_tree import Measurement, measure
from tests.support import ROOT
from tests.support.corpora import sentences

# one line in three has no number
EN = [f"{line} Number {i}." if i % 3 else line for i, line in enumerate(sentences(60, seed=1))]
DE = [f"Nummer {i}: {line}" if i % 3 else line for i, line in enumerate(sentences(60, seed=2))]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A folder with the layout of the real corpora."""
    for name, start in (("tatoeba_deu_eng/train", 0), ("wmt_newstest_ende/newstest2013", 40)):
        (tmp_path / "data" / name).parent.mkdir(parents=True, exist_ok=True)
        for lang, lines in (("en", EN), ("de", DE)):
            text = "".join(f"{line}\n" for line in lines[start : start + 40])
            (tmp_path / "data" / f"{name}.{lang}.gz").write_bytes(gzip.compress(text.encode()))
    return tmp_path / "data"


def test_text_is_the_real_pairs_and_then_as_many_others_with_the_same_numbers_on_both_sides(
    data: Path, tmp_path: Path
) -> None:
    real = real_pairs(data)
    assert sorted(real) == sorted(zip(EN, DE, strict=True))
    pairs = list(repeated(real, 500))
    assert pairs[:60] == real and len(set(pairs)) == 500
    for source, target in pairs:
        assert sorted(re.findall(r"\d+", source)) == sorted(re.findall(r"\d+", target))
    # one line in four, of 440 pairs, has a word that is new
    assert len({word for pair in pairs for line in pair for word in re.findall(r"[A-Za-z]+\d{6}", line)}) == 220
    assert list(islice(repeated(real, 10**9), 500)) == pairs
    words = write(iter(pairs), tmp_path)
    assert words == sum(len((tmp_path / f"raw.{lang}").read_text(encoding="utf-8").split()) for lang in ("en", "de"))


def point(words: int, cpu: float) -> Point:
    return Point(words // 20, words, Measurement(wall=1.0, cpu=cpu, main_cpu=0.5, peak=10))


def test_a_line_and_a_power_law_are_continued_exactly() -> None:
    line = [point(words, 3 + 0.002 * words) for words in (1_000, 8_000, 4_000)]
    assert linear(line, 90_000, "cpu") == pytest.approx(3 + 0.002 * 90_000)
    law = [point(words, 0.3 * words**0.6) for words in (1_000, 8_000, 4_000)]
    assert power(law, 90_000, "cpu") == pytest.approx(0.3 * 90_000**0.6)
    assert linear(line, 90_000, "peak") == power(line, 90_000, "peak") == 10
    assert linear(law[:1], 5_000, "main_cpu") == power(law[:1], 5_000, "main_cpu") == pytest.approx(2.5)


def test_more_cores_share_all_but_what_the_first_process_does() -> None:
    assert seconds(100.0, 20.0, 1) == 100
    assert seconds(100.0, 20.0, 4) == 40
    assert seconds(100.0, 100.0, 16) == 100


WORK = """
import subprocess, sys, time
def burn(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end: pass
if len(sys.argv) == 1:
    burn(0.3)
    subprocess.run([sys.executable, __file__, "child"], check=True)
else:
    memory = b"x" * 150_000_000
    burn(0.8)
    print(len(memory))
"""


def test_time_and_memory_are_those_of_a_process_and_its_children(tmp_path: Path) -> None:
    program, output = tmp_path / "work.py", tmp_path / "out"
    program.write_text(WORK, encoding="utf-8")
    start = time.monotonic()
    found = measure([sys.executable, str(program)], stdout=output)
    assert output.read_text() == "150000000\n"
    assert 1.1 <= found.cpu < 2 and 0.2 < found.main_cpu < 0.8
    assert found.cpu <= found.wall + 0.1 and found.wall <= time.monotonic() - start
    assert 150e6 < found.peak < 250e6


def test_two_steps_add_their_times_and_the_larger_of_their_memories() -> None:
    one, other = Measurement(1.0, 2.0, 3.0, 40), Measurement(5.0, 6.0, 7.0, 8)
    assert one + other == other + one == Measurement(6.0, 8.0, 10.0, 40)


def test_a_command_that_fails_tells_why() -> None:
    with pytest.raises(subprocess.CalledProcessError) as error:
        measure([sys.executable, "-c", "import sys; sys.exit('no reason')"])
    assert (error.value.returncode, error.value.stderr) == (1, b"no reason\n")


def benchmark(*options: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "scripts/benchmark_prepare.py", *map(str, options)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def test_every_stage_is_measured_and_extrapolated(data: Path, tmp_path: Path) -> None:
    work, figures = tmp_path / "work", tmp_path / "figures.json"
    done = benchmark("--data", data, "--work", work, "--pairs", 200, "--merges", 50, "--jobs", 2, "--json", figures)
    assert done.returncode == 0, done.stderr
    names = ["check", "tokenize", "learn BPE", "apply BPE", "clean", "binarize"]
    assert [row[:12].strip() for row in done.stdout.splitlines()] == [
        *("2 jobs", "", "stage", *names, ""),
        *("extrapolated", "", "stage", *names, "all"),
    ]
    found = json.loads(figures.read_text(encoding="utf-8"))
    assert [row["stage"] for row in found["measured"]] == list(found["extrapolated"]) == names
    assert (work / "200" / "data-bin" / "train.en-de.de.bin").stat().st_size > 200


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--pairs", 10, 0), "benchmark_prepare.py: error: argument --pairs: must be a whole number above 0, but is 0"),
        ((), "benchmark_prepare.py: error: EMPTY has none of europarl20k/europarl20k, tatoeba_deu_eng/train, "),
    ],
    ids=["no pair", "no corpus"],
)
def test_what_cannot_be_measured_is_told_in_a_line(tmp_path: Path, options: tuple[object, ...], message: str) -> None:
    done = benchmark("--data", tmp_path, "--work", tmp_path / "work", *options)
    assert done.returncode != 0
    assert done.stderr.splitlines()[-1].startswith(message.replace("EMPTY", str(tmp_path)))
