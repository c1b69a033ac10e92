"""Measure each stage of preparing a parallel corpus, and extrapolate to WMT14 English-German.

    python scripts/benchmark_prepare.py --data DATA --work build/benchmark --json build/benchmark.json

The text is the English-German pairs of Europarl, Tatoeba and the WMT news sets in --data, repeated with changed numbers
(scripts/benchmarks/preparation/corpus.py says how). The stages are those of data-prep/prepare.sh: check, tokenise with
normalisation, learn BPE, apply it, clean, binarise. Memory is the peak over all processes of a stage.

Extrapolation: a stage's CPU time grows with the words, from the two largest sizes, so that its start isn't multiplied;
learning BPE grows as a power of them, as word types do. The first process's share of a stage runs on one core, the
rest on all. WMT14's 4,520,620 pairs have 226 million words (Luong et al. 2015, section 4.1).
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from benchmarks.preparation.corpus import real_pairs, repeated, write
from benchmarks.preparation.extrapolation import Point, linear, power, seconds
from benchmarks.preparation.process_tree import Measurement, measure

ROOT = Path(__file__).resolve().parent.parent
WMT14_PAIRS, WMT14_WORDS = 4_520_620, 226_000_000
LANGUAGES = ("en", "de")
CORES = (2, 16)


def program(name: str, *arguments: object) -> list[str]:
    """Return the command line of a program of fairseq_rope_data."""
    return [sys.executable, "-m", f"fairseq_rope_data.{name}", *map(str, arguments)]


def stages(folder: Path, *, jobs: int, merges: int) -> dict[str, Callable[[], Measurement]]:
    """Return the stages in their order; each reads and writes files in `folder`."""
    sides = ("--source-lang", "en", "--target-lang", "de")

    def tokenise(lang: str) -> Measurement:
        command = program("tokenize", "--lang", lang, "--normalise", "--jobs", jobs, folder / f"raw.{lang}")
        return measure(command, stdout=folder / f"tok.{lang}")

    def learn() -> Measurement:
        command = program("learn_bpe", "--merges", merges, folder / "tok.en", folder / "tok.de")
        return measure(command, stdout=folder / "codes")

    def apply(lang: str) -> Measurement:
        command = program("apply_bpe", "--codes", folder / "codes", "--jobs", jobs, folder / f"tok.{lang}")
        return measure(command, stdout=folder / f"bpe.{lang}")

    def binarise() -> Measurement:
        command = [sys.executable, "-m", "fairseq_cli.preprocess", "-s", "en", "-t", "de"]
        command += ["--joined-dictionary", "--thresholdsrc", "0", "--thresholdtgt", "0", "--padding-factor", "8"]
        command += ["--trainpref", str(folder / "clean"), "--destdir", str(folder / "data-bin")]
        # fairseq's first process takes a part of its own only when all others have done theirs
        command += ["--workers", str(2 * jobs)]
        return measure(command)

    return {
        "check": lambda: measure(program("check_corpus", *sides, folder / "raw")),
        "tokenise": lambda: tokenise("en") + tokenise("de"),
        "learn BPE": learn,
        "apply BPE": lambda: apply("en") + apply("de"),
        "clean": lambda: measure(program("clean_corpus", *sides, folder / "bpe", folder / "clean")),
        "binarise": binarise,
    }


def measured_table(points: dict[str, list[Point]]) -> str:
    """Return a row for each stage and size."""
    rows = [f"{'stage':12}{'pairs':>10}{'seconds':>10}{'CPU s':>10}{'pairs/s':>10}{'peak MiB':>10}"]
    for stage, sizes in points.items():
        for pairs, _, (wall, cpu, _, peak) in sizes:
            rows.append(f"{stage:12}{pairs:10,}{wall:10.1f}{cpu:10.1f}{pairs / wall:10,.0f}{peak / 2**20:10,.0f}")
    return "\n".join(rows)


def extrapolation(points: dict[str, list[Point]]) -> dict[str, dict[str, float]]:
    """Return for each stage its CPU seconds, seconds for each number of CORES, and peak bytes, at WMT14's size."""
    found = {}
    for stage, sizes in points.items():
        grow = power if stage == "learn BPE" else linear
        cpu, main_cpu = (grow(sizes, WMT14_WORDS, field) for field in ("cpu", "main_cpu"))
        times = {f"seconds_on_{cores}": seconds(cpu, main_cpu, cores) for cores in CORES}
        found[stage] = {"cpu": cpu, **times, "peak": grow(sizes, WMT14_WORDS, "peak")}
    return found


def extrapolated_table(found: dict[str, dict[str, float]]) -> str:
    """Return a row for each stage, and their sum."""
    rows = [f"{'stage':12}{'CPU min':>10}" + "".join(f"{f'min on {n}':>12}" for n in CORES) + f"{'peak GiB':>10}"]
    names = ["cpu", *(f"seconds_on_{cores}" for cores in CORES)]
    total = {name: sum(stage[name] for stage in found.values()) for name in names}
    for stage, values in {**found, "all": {**total, "peak": max(stage["peak"] for stage in found.values())}}.items():
        times = "".join(f"{values[name] / 60:{10 if name == 'cpu' else 12}.1f}" for name in names)
        rows.append(f"{stage:12}{times}{values['peak'] / 2**30:10.2f}")
    return "\n".join(rows)


def positive(text: str) -> int:
    """Read a whole number of at least 1, for argparse."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"must be at least 1, but is {number}")
    return number


def main() -> None:
    """Read the options, then measure size after size."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder of the real corpora")
    parser.add_argument("--work", type=Path, required=True, help="folder for the text; some 2 kB for each pair")
    parser.add_argument("--pairs", type=positive, nargs="+", default=[50_000, 200_000, 800_000])
    cores = len(os.sched_getaffinity(0))
    parser.add_argument("--jobs", type=positive, default=cores, help="processes (default: all cores)")
    parser.add_argument("--merges", type=positive, default=37_000)
    parser.add_argument("--json", type=Path, help="write the figures to this file, too")
    options = parser.parse_args()
    real = real_pairs(options.data)
    points: dict[str, list[Point]] = {}
    for pairs in sorted(set(options.pairs)):
        folder = options.work / str(pairs)
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        words = write(repeated(real, pairs), folder)
        for stage, run in stages(folder, jobs=options.jobs, merges=options.merges).items():
            point = Point(pairs, words, run())
            points.setdefault(stage, []).append(point)
            print(f"{pairs:,} pairs, {stage}: {point.measured.wall:.1f} s", file=sys.stderr)
    found = extrapolation(points)
    print(f"{options.jobs} jobs\n\n{measured_table(points)}\n")
    print(f"extrapolated to {WMT14_PAIRS:,} pairs of {WMT14_WORDS:,} words\n\n{extrapolated_table(found)}")
    if options.json:
        rows = [
            {"stage": stage, "pairs": point.pairs, "words": point.words, **point.measured._asdict()}
            for stage, sizes in points.items()
            for point in sizes
        ]
        facts = {"jobs": options.jobs, "merges": options.merges, "measured": rows, "extrapolated": found}
        options.json.write_text(json.dumps(facts, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    try:
        main()
    except subprocess.CalledProcessError as error:
        sys.exit(f"benchmark_prepare.py: error: {error}\n{error.stderr.decode(errors='replace')}")
    except OSError as error:
        sys.exit(f"benchmark_prepare.py: error: {error}")
