"""Compare CTranslate2 with fairseq's generator on a test set: translations, scores, BLEU4 and the time of the search.

    python scripts/compare_engines.py data-bin --path averaged.pt --beam 4 --lenpen 0.6 --remove-bpe --cpu

The checkpoint is written for CTranslate2 in each --quantization. All engines search by turns, each in a process of its
own, for the same binarised sentences, --gen-subset, in the batches and with the threads of `translate`: tokenising,
loading and export don't count. A time is the median of --repeats after a first round that doesn't count, with the least
and the greatest. Below the table stand the sentences whose text differs from fairseq's, with both scores: where those
are equal, two translations are as good as each other.

All other options are those of fairseq_rope.tools.translate, for both engines.
"""

import argparse
import contextlib
import json
import os
import platform
import statistics
import sys
import tempfile
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch

from benchmarks.engines.process import Contender, Found
from fairseq_rope.compat.chatter import silence_libraries
from fairseq_rope.export.ctranslate2.model_folder import QUANTIZATIONS
from fairseq_rope.export.ctranslate2.spec import RUNTIME_LAYOUT
from fairseq_rope.export.ctranslate2.writer import write_model
from fairseq_rope.inference.translator import Translator
from fairseq_rope.modules.positions.rotary import LAYOUTS
from fairseq_rope_data.errors import run
from fairseq_rope_data.files import complete_file

Row = dict[str, Any]
STOCK = "fairseq, --stock"


def commands(args: argparse.Namespace, options: Sequence[str], folder: Path) -> dict[str, list[str]]:
    """Write the model for CTranslate2 into new folders in `folder`; give the options of `translate` for each engine.

    Returns: options, under names in the table; the first is what the others' speed is measured against.
    """
    fairseq = Translator.from_args(options)
    named = {STOCK: [*options, "--path", args.stock]} if args.stock else {}
    named["fairseq"] = list(options)
    for quantization in args.quantization:
        for layout in args.layouts:
            name = f"ctranslate2, {quantization}" + (f", {layout}" if len(args.layouts) > 1 else "")
            (folder / name).mkdir()
            write_model(folder / name, fairseq.task, fairseq.engine.models[0], quantization=quantization, layout=layout)
            named[name] = [*options, "--engine", "ctranslate2", "--path", str(folder / name)]
    return named


def measured(contenders: dict[str, Contender], *, repeats: int) -> list[Row]:
    """Translate the test set with each in turn, again and again.

    Returns: for each its name, BLEU4, seconds of each repetition, tokens, and what it found.
    """
    rows = []
    for name, contender in contenders.items():
        _, found = contender.search()
        rows.append({"engine": name, "bleu": found.bleu, "seconds": [], "tokens": found.tokens, "found": found})
    for turn in range(repeats):
        for row in rows:
            row["seconds"].append(contenders[row["engine"]].search()[0])
        print(f"repetition {turn + 1} of {repeats}", file=sys.stderr)
    return rows


def compared(rows: list[Row]) -> list[Row]:
    """Complete rows: `speeds`, tokens a second against the first row, turn by turn; texts `different` from fairseq."""
    expected: Found = next(row["found"] for row in rows if row["engine"] == "fairseq")
    for row in rows:
        row["speeds"] = [
            (row["tokens"] / mine) / (rows[0]["tokens"] / first)
            for mine, first in zip(row["seconds"], rows[0]["seconds"], strict=True)
        ]
        found: Found = row.pop("found")
        row["sentences"] = len(found.texts)
        # another model has other texts
        row["different"] = row["engine"] != STOCK and [
            {
                "sentence": number,
                "fairseq": {"score": expected.scores[number], "text": expected.texts[number]},
                "engine": {"score": found.scores[number], "text": text},
            }
            for number, text in enumerate(found.texts)
            if text != expected.texts[number]
        ]
    return rows


def table(rows: list[Row]) -> str:
    """Lay rows out in Markdown."""
    lines = ["| engine | seconds | tokens/s | speed | same text as fairseq | BLEU4 |", "|---|---|---|---|---|---|"]
    for row in rows:
        same = "-" if row["engine"] == STOCK else f"{1 - len(row['different']) / row['sentences']:.1%}"
        rate = row["tokens"] / statistics.median(row["seconds"])
        cells = (_spread(row["seconds"], ""), f"{rate:,.0f}", _spread(row["speeds"], "x"), same)
        lines.append(f"| {row['engine']} | {' | '.join(cells)} | {row['bleu']:.2f} |")
    return "\n".join(lines)


def _spread(values: list[float], unit: str) -> str:
    return f"{statistics.median(values):.2f}{unit} ({min(values):.2f} to {max(values):.2f})"


def differences(row: Row, *, most: int) -> str:
    """List the first sentences of a row that differ from fairseq's; numbers count from 0, as in fairseq's logs."""
    lines = [f"\n{row['engine']}: {len(row['different'])} of {row['sentences']} differ"]
    for one in row["different"][:most]:
        lines += [
            f"{name}-{one['sentence']}\t{one[name]['score']:.6f}\t{one[name]['text']}" for name in ("fairseq", "engine")
        ]
    return "\n".join(lines)


def facts(args: argparse.Namespace, options: Sequence[str]) -> dict[str, Any]:
    """Tell what the figures depend on."""
    packages = {name: version(name) for name in ("torch", "ctranslate2")}
    device = torch.cuda.get_device_name() if torch.cuda.is_available() and "--cpu" not in options else _cpu()
    return {
        "device": device,
        "threads": args.threads,
        "python": platform.python_version(),
        **packages,
        "options": options,
    }


def _cpu() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    return next((line.partition(": ")[2] for line in lines if line.startswith("model name")), platform.processor())


def _count(text: str) -> int:
    if not (text.isdecimal() and int(text)):
        raise argparse.ArgumentTypeError(f"must be a whole number above 0, but is {text}")
    return int(text)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    add = parser.add_argument
    add("--quantization", nargs="+", choices=QUANTIZATIONS, default=["float32", "int8"], metavar="Q")
    add("--layouts", nargs="+", choices=LAYOUTS, default=[RUNTIME_LAYOUT], metavar="L", help="rotary pairs as written")
    add("--stock", metavar="FILE", help="a checkpoint of fairseq's own model: speeds are relative to its search")
    add("--repeats", type=_count, default=5, metavar="N")
    add(
        "--threads",
        type=_count,
        metavar="N",
        default=len(os.sched_getaffinity(0)),
        help="on the CPU, for each engine (default: all)",
    )
    add("--limit", type=_count, metavar="N", help="take the first N sentences only")
    add("--show", type=int, default=20, metavar="N", help="print the first N sentences that differ, of each engine")
    add("--json", type=Path, metavar="FILE", help="write the figures and all sentences that differ to this file, too")
    return parser


def main() -> None:
    """Read the options, measure and print."""
    args, options = _parser().parse_known_args()
    silence_libraries()
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        contenders = {
            name: stack.enter_context(contextlib.closing(Contender(command, limit=args.limit, threads=args.threads)))
            for name, command in commands(args, options, Path(folder)).items()
        }
        rows = compared(measured(contenders, repeats=args.repeats))
    print(table(rows))
    for row in rows:
        if row["different"]:
            print(differences(row, most=args.show))
    if args.json:
        with complete_file(args.json) as part:
            part.write_text(json.dumps({**facts(args, options), "rows": rows}, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    run("compare_engines", main)
