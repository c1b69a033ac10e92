"""The rotary Transformer against fairseq's own of the same sizes: training, translation, long sentences, the rotation.

    python scripts/benchmark.py
    python scripts/benchmark.py train --sizes iwslt --max-tokens 4096 --data data-bin --output benchmark.json

Both models are measured in turn, in processes of their own, and compared repetition by repetition: the tables have
medians with the least and the greatest ratio, and each process's peak memory. Times mean something on a quiet machine
only.

train     target tokens a second through fairseq's Trainer, on the same batches; on a GPU the share of its peak
generate  through fairseq-generate with beam 4; without checkpoints weights are random and all translations equally long
length    a training step on sentences of one length; what does not fit into memory is a row that says so
rotation  its share of a training step, by taking it out of the same model
"""

import argparse
import datetime
import json
import logging
import shlex
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks.environment import environment
from benchmarks.model import options, report
from benchmarks.model.compare import compare
from benchmarks.model.plan import UNSUPPORTED, Setting, settings
from fairseq_rope_data.errors import UserError, run
from fairseq_rope_data.files import complete_file


def main() -> None:
    """Read the options, measure, write JSON as it grows, print the tables.

    Raises:
        UserError: an option or a file breaks its rule, or a measurement failed for another reason than memory.
    """
    start = time.monotonic()
    args = options.read(__doc__ or "")
    logging.disable(logging.INFO)  # of fairseq
    found = environment(args.device)
    result: dict[str, Any] = {
        "date": datetime.date.today().isoformat(),
        "command": shlex.join(["python", *sys.argv]),
        "environment": found,
        "rows": [],
        "notes": [],
        "left_out": [],
    }
    if UNSUPPORTED[0] in args.kinds and UNSUPPORTED[1] in args.number_types:
        result["left_out"].append(f"{', '.join(UNSUPPORTED)}: fairseq-generate ignores --bf16")
    for setting in settings(args):
        if args.minutes is not None and time.monotonic() - start > 60 * args.minutes:
            result["left_out"].append(f"{setting.name()}: the {args.minutes:g} minutes were over")
            continue
        print(f"{setting.name()} ...", file=sys.stderr, flush=True)
        result["rows"].append(_measure(setting, args, found.get("GPU")))
        print(report.tables(result["rows"][-1:]).splitlines()[-1], file=sys.stderr, flush=True)
        result["notes"] += [f"{setting.name()}: {note}" for note in report.notes(result["rows"][-1])]
        _write(args.output, result)
    _write(args.output, result)
    print(report.tables(result["rows"]))
    print("\n" + ", ".join(f"{name} {value}" for name, value in found.items()) + f"; {result['date']}")
    for line in result["notes"]:
        print(line)
    for line in result["left_out"]:
        print(f"left out: {line}")
    if any(report.failed(row) for row in result["rows"]):
        raise UserError("a measurement failed for another reason than memory; its own words stand above")


def _write(output: Path | None, result: dict[str, Any]) -> None:
    if output:
        with complete_file(output) as part:
            part.write_text(json.dumps(result, indent=1) + "\n")


def _measure(setting: Setting, args: argparse.Namespace, gpu: str | None) -> report.Row:
    found = compare(setting.specs, repetitions=args.repetitions, warm_up=args.warm_up, gpu=gpu)
    if setting.row["kind"] == "rotation":
        return report.rotation(setting.row, found["rope"])
    return report.compared(setting.row, found["stock"], found["rope"])


if __name__ == "__main__":
    run("benchmark", main)
