"""Measure each stage of preparing a parallel corpus, and extrapolate to WMT14 English-German.

    python scripts/benchmark_prepare.py --data DATA --work build/benchmark --json build/benchmark.json

The text is the English-German pairs of Europarl, Tatoeba and the WMT news sets in --data, repeated with changed
numbers (scripts/benchmarks/preparation/corpus.py says how). The stages are those of scripts/lib/pipeline.sh: check,
tokenize with normalization, learn BPE, apply it, clean, binarize. Memory is the peak over all processes of a stage.

Extrapolation: a stage's CPU time grows with the words, from the two largest sizes, so that its start isn't multiplied;
learning BPE grows as a power of them, as word types do. The first process's share of a stage runs on one core, the
rest on all. WMT14's 4,520,620 pairs have 226 million words (Luong et al. 2015, section 4.1).
"""

import argparse
import os
import subprocess
import sys
from pathlib import Path

from benchmarks.options import count
from benchmarks.preparation import tables
from benchmarks.preparation.stages import measure_sizes
from benchmarks.report import write_json
from fairseq_rope_data import cli
from fairseq_rope_data.errors import UserError, run


def main() -> None:
    """Read the options, measure size after size, print the tables.

    Raises:
        UserError: a stage failed; its own words stand above.
    """
    options = _parser().parse_args()
    try:
        points = measure_sizes(options.data, options.work, options.pairs, jobs=options.jobs, merges=options.merges)
    except subprocess.CalledProcessError as error:
        sys.stderr.write(error.stderr.decode(errors="replace"))
        raise UserError(str(error)) from error
    extrapolated = tables.extrapolation(points)
    print(f"{options.jobs} jobs\n\n{tables.measured_table(points)}\n")
    print(f"extrapolated to {tables.WMT14_PAIRS:,} pairs of {tables.WMT14_WORDS:,} words\n")
    print(tables.extrapolated_table(extrapolated))
    measured = [
        {"stage": stage, "pairs": point.pairs, "words": point.words, **point.measured._asdict()}
        for stage, sizes in points.items()
        for point in sizes
    ]
    facts = {"jobs": options.jobs, "merges": options.merges}
    write_json(options.json, {**facts, "measured": measured, "extrapolated": extrapolated})


def _parser() -> argparse.ArgumentParser:
    options = cli.parser(__doc__, "benchmark_prepare.py")
    add = options.add_argument
    add("--data", type=Path, required=True, help="folder of the real corpora")
    add("--work", type=Path, required=True, help="folder for the text; some 2 kB for each pair")
    add("--pairs", type=count, nargs="+", default=[50_000, 200_000, 800_000])
    add("--jobs", type=count, default=len(os.sched_getaffinity(0)), help="processes (default: all cores)")
    add("--merges", type=count, default=37_000)
    add("--json", type=Path, help="write the figures to this file, too")
    return options


if __name__ == "__main__":
    run("benchmark_prepare.py", main)
