"""A run of the benchmark: one setting after another, into a file that grows and into tables."""

import argparse
import datetime
import functools
import logging
import shlex
import sys
import time
from collections import defaultdict
from collections.abc import Callable
from typing import Any

from benchmarks.environment import environment
from benchmarks.model import flops, product_rate, report, tricks
from benchmarks.model.compare import compare
from benchmarks.model.plan import UNSUPPORTED, Setting, settings
from benchmarks.report import Row, write_json
from fairseq_rope_data.errors import UserError


def measure(args: argparse.Namespace) -> None:
    """Measure what the options ask for, write JSON as it grows, print the tables.

    Raises:
        UserError: a measurement failed for another reason than memory.
    """
    start = time.monotonic()
    logging.disable(logging.INFO)  # of fairseq
    facts = environment(args.device)
    result: dict[str, Any] = {
        "date": datetime.date.today().isoformat(),
        "command": shlex.join(["python", *sys.argv]),
        "environment": facts,
        "rows": [],
        "notes": [],
        "left_out": [],
    }
    rows, left_out = result["rows"], result["left_out"]
    if UNSUPPORTED[0] in args.kinds and UNSUPPORTED[1] in args.dtypes:
        left_out.append(f"{', '.join(UNSUPPORTED)}: fairseq-generate ignores --bf16")
    if tricks.KIND in args.kinds:
        left_out += [f"{tricks.KIND}, {name}: {reason}" for name, reason in tricks.left_out(args.tricks).items()]
    for setting in settings(args):
        if args.minutes is not None and time.monotonic() - start > 60 * args.minutes:
            left_out.append(f"{setting.name()}: the {args.minutes:g} minutes were over")
            continue
        print(f"{setting.name()} ...", file=sys.stderr, flush=True)
        new = _measure(setting, args, _best_rate(setting.row, facts))
        rows += new
        _tell_best_rates(rows, facts)
        print("\n".join(report.tables(new).splitlines()[2:]), file=sys.stderr, flush=True)
        result["notes"] += [f"{setting.name()}: {note}" for row in new for note in report.notes(row)]
        write_json(args.output, result)
    write_json(args.output, result)
    print(report.tables(rows))
    print("\n" + ", ".join(f"{name} {value}" for name, value in facts.items()) + f"; {result['date']}")
    for line in [*result["notes"], *(f"left out: {line}" for line in left_out)]:
        print(line)
    if any(report.failed(row) for row in rows):
        raise UserError("a measurement failed for another reason than memory; its own words stand above")


def _best_rate(row: Row, facts: dict[str, str]) -> Callable[[], float] | None:
    """Return what says the rate that a training step is measured against: a GPU's by its name, or this processor's."""
    dtype = row["dtype"]
    if row["kind"] not in ("train", "masked"):
        return None
    if "GPU" not in facts:
        return functools.partial(product_rate.best, dtype)
    peak = flops.peak(facts["GPU"], dtype)
    return None if peak is None else lambda: peak


def _tell_best_rates(rows: list[Row], facts: dict[str, str]) -> None:
    """Add to the facts what the best rates of this processor were."""
    rates: dict[str, list[float]] = defaultdict(list)
    for row in rows:
        for measured in row["models"].values():
            rates[row["dtype"]] += measured.get("best_rate", [])
    for dtype, of_dtype in rates.items():
        if of_dtype and "GPU" not in facts:
            facts[f"products, {dtype}"] = f"{min(of_dtype) / 1e9:,.0f} to {max(of_dtype) / 1e9:,.0f} GFLOP/s"


def _measure(setting: Setting, args: argparse.Namespace, best_rate: Callable[[], float] | None) -> list[Row]:
    measured = compare(setting.specs, repetitions=args.repetitions, warm_up=args.warm_up, best_rate=best_rate)
    rope = measured.pop("rope")
    if setting.row["kind"] == "rotation":
        return [report.rotation(setting.row, rope)]
    if setting.row["kind"] == tricks.KIND:
        rows = {name: {**setting.row, "trick": name} for name in measured}
        return [report.compared(rows[name], {"without": other}, rope) for name, other in measured.items()]
    return [report.compared(setting.row, measured, rope)]
