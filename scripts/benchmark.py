"""The rotary Transformer against fairseq's own of the same sizes: training, generation, long sentences, the rotation alone.

python scripts/benchmark.py train --sizes iwslt --max-tokens 4096
python scripts/benchmark.py train generate length rotation --output benchmark.json

Both models are measured in turn, in processes of their own, and compared repetition by repetition: the table has
medians, the least and the greatest ratio, and each process's peak memory. Timings mean something on a quiet machine only.
Weights are random, so generation is forced to --steps tokens for both models, unless checkpoints are given.
"""

import argparse
import contextlib
import datetime
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks import report, setup
from benchmarks.generate import BATCHES, Generation
from benchmarks.report import Measured
from benchmarks.worker import Repetition, Worker
from tqdm import tqdm

KINDS = ("train", "generate", "length", "rotation")


def compare(name: str, specs: dict[str, dict[str, Any]], repetitions: int) -> dict[str, Any]:
    """Measure two models in turn, after one repetition of each as a warm-up."""
    make = Generation if specs["stock"]["kind"] == "generate" else Worker
    workers = {model: make(spec) for model, spec in specs.items()}
    found: dict[str, list[Repetition]] = {model: [] for model in specs}
    with contextlib.ExitStack() as stack:
        for worker in workers.values():
            stack.callback(worker.close)
            worker.ask("rep")
        for _ in tqdm(range(repetitions), desc=name, leave=False, disable=None):
            for model, worker in workers.items():
                found[model].append(Repetition(*worker.ask("rep")))
        peaks = {model: worker.ask("peak") for model, worker in workers.items()}
    stock, rope = (Measured(found[model], peaks[model]) for model in specs)
    return report.row(name, stock, rope)


def plans(args: argparse.Namespace) -> Iterator[tuple[str, dict[str, dict[str, Any]]]]:
    """Give every comparison that the options ask for: its name, and what each model's worker is told."""
    for number_type in args.number_types:
        for size in args.sizes:
            data = (args.data or setup.make_data(args.work, setup.WORDS[size])).resolve()
            common = {"size": size, "data": str(data), "device": args.device, "number_type": number_type}
            for kind in args.kinds:
                for name, settings in _settings(kind, args):
                    spec = {"kind": kind, **common, **settings}
                    yield f"{kind}, {size}, {number_type}, {name}", _models(spec, args)


def _settings(kind: str, args: argparse.Namespace) -> Iterator[tuple[str, dict[str, Any]]]:
    if kind in ("train", "rotation"):
        for tokens in args.max_tokens:
            yield f"{tokens:,} tokens", {"max_tokens": tokens, "updates": args.updates}
    elif kind == "generate":
        for batch in args.batches:
            yield f"batch {batch}", {"batch": batch, "steps": args.steps}
    else:
        for length in args.lengths:
            for sentences in sorted({1, max(1, args.max_tokens[-1] // length)}):
                yield f"{sentences} x {length:,}", {"length": length, "sentences": sentences}


def _models(spec: dict[str, Any], args: argparse.Namespace) -> dict[str, dict[str, Any]]:
    if spec["kind"] == "rotation":
        # the same model without and with it: what it costs
        spec = {**spec, "kind": "train", "model": "rope"}
        return {"stock": {**spec, "rotation": "off"}, "rope": spec}
    checkpoints = {"stock": args.stock_checkpoint, "rope": args.rope_checkpoint}
    return {model: {**spec, "model": model, "checkpoint": checkpoints[model]} for model in setup.MODELS}


def main() -> None:
    """Read the options, measure, print the table as it grows, write JSON."""
    args = _parser().parse_args()
    if args.device is None:
        import torch

        args.device = "cuda" if torch.cuda.is_available() else "cpu"
    result: dict[str, Any] = {
        "date": datetime.date.today().isoformat(),
        "command": " ".join(sys.argv),
        "environment": report.environment(args.device),
        "rows": [],
    }
    for name, specs in plans(args):
        result["rows"].append(compare(name, specs, args.repetitions))
        print(report.table(result["rows"][-1:]).splitlines()[-1], file=sys.stderr)
        if args.output:
            args.output.write_text(json.dumps(result, indent=1) + "\n")
    print(report.table(result["rows"]))
    print("\n" + ", ".join(f"{name} {value}" for name, value in result["environment"].items()) + f"; {result['date']}")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add(
        "kinds",
        nargs="*",
        choices=KINDS,
        default=list(KINDS),
        metavar="KIND",
        help=f"what to measure: {', '.join(KINDS)} (all)",
    )
    add("--sizes", nargs="+", choices=setup.SIZES, default=list(setup.SIZES), help="sizes of the models (all)")
    add("--max-tokens", nargs="+", type=int, default=[1024, 4096], metavar="N", help="tokens in a batch (1024 4096)")
    add("--lengths", nargs="+", type=int, default=[64, 256, 1024, 4096, 8192], metavar="N", help="tokens in a sentence")
    add("--batches", nargs="+", choices=BATCHES, default=list(BATCHES), help="batches of generation (all)")
    add("--steps", type=int, default=30, metavar="N", help="tokens that a model without a checkpoint generates (30)")
    add("--updates", type=int, default=5, metavar="N", help="updates in a repetition (5)")
    add("--repetitions", type=int, default=5, metavar="N", help="repetitions of each model (5)")
    add("--number-types", nargs="+", choices=("fp32", "fp16", "bf16"), default=["fp32"], help="number types (fp32)")
    add("--device", choices=("cpu", "cuda"), help="where (a GPU if there is one)")
    add("--data", type=Path, help="a binarised corpus with a test set (one is made)")
    add("--stock-checkpoint", metavar="FILE", help="a trained stock model, for generation")
    add("--rope-checkpoint", metavar="FILE", help="a trained rotary model, for generation")
    add("--work", type=Path, default=Path("runs/benchmark"), help="folder for what is made (runs/benchmark)")
    add("--output", type=Path, metavar="FILE", help="write all figures as JSON")
    return parser


if __name__ == "__main__":
    main()
