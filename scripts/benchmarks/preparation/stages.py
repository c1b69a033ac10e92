"""The stages of scripts/lib/pipeline.sh, each as what measures it once."""

import shutil
import sys
from collections.abc import Callable
from pathlib import Path

from benchmarks.preparation.corpus import real_pairs, repeated, write
from benchmarks.preparation.extrapolation import Point
from benchmarks.preparation.process_tree import Measurement, measure


def measure_sizes(data: Path, work: Path, counts: list[int], *, jobs: int, merges: int) -> dict[str, list[Point]]:
    """Measure all stages with so many pairs of sentences, one number after another.

    Returns: the measurements of each stage.

    Raises:
        FileNotFoundError: `data` has no corpora.
        subprocess.CalledProcessError: a stage failed.
    """
    real = real_pairs(data)
    points: dict[str, list[Point]] = {}
    for pairs in sorted(set(counts)):
        folder = work / str(pairs)
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        words = write(repeated(real, pairs), folder)
        for stage, run in stages(folder, jobs=jobs, merges=merges).items():
            point = Point(pairs, words, run())
            points.setdefault(stage, []).append(point)
            print(f"{pairs:,} pairs, {stage}: {point.measured.wall:.1f} s", file=sys.stderr)
    return points


def program(name: str, *arguments: object) -> list[str]:
    """Return the command line of a program of fairseq_rope_data."""
    return [sys.executable, "-m", f"fairseq_rope_data.{name}", *map(str, arguments)]


def stages(folder: Path, *, jobs: int, merges: int) -> dict[str, Callable[[], Measurement]]:
    """Return the stages in their order; each reads and writes files in `folder`."""
    sides = ("--source-lang", "en", "--target-lang", "de")

    def tokenize(lang: str) -> Measurement:
        command = program("tokenize", "--lang", lang, "--normalize", "--jobs", jobs, folder / f"raw.{lang}")
        return measure(command, stdout=folder / f"tok.{lang}")

    def learn() -> Measurement:
        command = program("learn_bpe", "--merges", merges, folder / "tok.en", folder / "tok.de")
        return measure(command, stdout=folder / "codes")

    def apply(lang: str) -> Measurement:
        command = program("apply_bpe", "--codes", folder / "codes", "--jobs", jobs, folder / f"tok.{lang}")
        return measure(command, stdout=folder / f"bpe.{lang}")

    def binarize() -> Measurement:
        command = [sys.executable, "-m", "fairseq_cli.preprocess", "-s", "en", "-t", "de"]
        command += ["--joined-dictionary", "--thresholdsrc", "0", "--thresholdtgt", "0", "--padding-factor", "8"]
        command += ["--trainpref", str(folder / "clean"), "--destdir", str(folder / "data-bin")]
        # fairseq's first process takes a part of its own only when all others have done theirs
        command += ["--workers", str(2 * jobs)]
        return measure(command)

    return {
        "check": lambda: measure(program("check_corpus", *sides, folder / "raw")),
        "tokenize": lambda: tokenize("en") + tokenize("de"),
        "learn BPE": learn,
        "apply BPE": lambda: apply("en") + apply("de"),
        "clean": lambda: measure(program("clean_corpus", *sides, folder / "bpe", folder / "clean")),
        "binarize": binarize,
    }
