"""Searches of several engines by turns, compared with fairseq's: speed, scores, and sentences that differ."""

import argparse
import platform
import statistics
import sys
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch

from benchmarks.engines.process import EngineProcess, Result
from benchmarks.report import Row, ranged, table
from fairseq_rope.export.ctranslate2.writer import write_model
from fairseq_rope.inference.fairseq_engine import FairseqEngine
from fairseq_rope.inference.translator import Translator
from fairseq_rope_data.errors import UserError
from fairseq_rope_data.provenance import processor

STOCK = "fairseq, --stock"


def commands(args: argparse.Namespace, options: Sequence[str], folder: Path) -> dict[str, list[str]]:
    """Write the model for CTranslate2 into new folders in `folder`; return the options of `translate` for each engine.

    Returns: options, under names in the table; the first is what the others' speed is measured against.

    Raises:
        UserError: an option or a file breaks its rule.
    """
    fairseq = Translator.from_args(options)
    if not isinstance(fairseq.engine, FairseqEngine):
        raise UserError("--engine must not be given: all engines are compared")
    named = {STOCK: [*options, "--path", args.stock]} if args.stock else {}
    named["fairseq"] = list(options)
    for quantization in args.quantization:
        for layout in args.layouts:
            name = f"ctranslate2, {quantization}" + (f", {layout}" if len(args.layouts) > 1 else "")
            (folder / name).mkdir()
            write_model(folder / name, fairseq.task, fairseq.engine.models[0], quantization=quantization, layout=layout)
            named[name] = [*options, "--engine", "ctranslate2", "--path", str(folder / name)]
    return named


def measured(engines: dict[str, EngineProcess], *, repeats: int) -> list[Row]:
    """Translate the test set with each in turn, again and again.

    Returns: for each its name, BLEU4, seconds of each repetition, tokens, and its `result`.
    """
    rows: list[Row] = []
    for name, engine in engines.items():
        _, result = engine.search()
        rows.append({"engine": name, "bleu": result.bleu, "seconds": [], "tokens": result.tokens, "result": result})
    for turn in range(repeats):
        for row in rows:
            row["seconds"].append(engines[row["engine"]].search()[0])
        print(f"repetition {turn + 1} of {repeats}", file=sys.stderr)
    return rows


def compared(rows: list[Row]) -> list[Row]:
    """Complete rows: `speeds`, tokens a second against the first row, turn by turn; texts `different` from fairseq."""
    expected: Result = next(row["result"] for row in rows if row["engine"] == "fairseq")
    for row in rows:
        row["speeds"] = [
            (row["tokens"] / mine) / (rows[0]["tokens"] / first)
            for mine, first in zip(row["seconds"], rows[0]["seconds"], strict=True)
        ]
        result: Result = row.pop("result")
        row["sentences"] = len(result.texts)
        # another model has other texts
        row["different"] = row["engine"] != STOCK and [
            {
                "sentence": number,
                "fairseq": {"score": expected.scores[number], "text": expected.texts[number]},
                "engine": {"score": result.scores[number], "text": text},
            }
            for number, text in enumerate(result.texts)
            if text != expected.texts[number]
        ]
    return rows


def engines_table(rows: list[Row]) -> str:
    """Return the table of completed rows."""
    cells = []
    for row in rows:
        same = "-" if row["engine"] == STOCK else f"{1 - len(row['different']) / row['sentences']:.1%}"
        rate = row["tokens"] / statistics.median(row["seconds"])
        seconds, speed = ranged(row["seconds"], "{:.2f}"), ranged(row["speeds"], "{:.2f}", "x")
        cells.append([row["engine"], seconds, f"{rate:,.0f}", speed, same, f"{row['bleu']:.2f}"])
    return table(["engine", "seconds", "tokens/s", "speed", "same text as fairseq", "BLEU4"], cells)


def differences(row: Row, *, most: int) -> str:
    """Return the first sentences of a row that differ from fairseq's; numbers count from 0, as in fairseq's logs."""
    lines = [f"\n{row['engine']}: {len(row['different'])} of {row['sentences']} differ"]
    for one in row["different"][:most]:
        lines += [
            f"{name}-{one['sentence']}\t{one[name]['score']:.6f}\t{one[name]['text']}" for name in ("fairseq", "engine")
        ]
    return "\n".join(lines)


def facts(args: argparse.Namespace, options: Sequence[str]) -> dict[str, Any]:
    """Return what the figures depend on."""
    on_gpu = torch.cuda.is_available() and "--cpu" not in options
    return {
        "device": torch.cuda.get_device_name() if on_gpu else processor(),
        "threads": args.threads,
        "python": platform.python_version(),
        **{name: version(name) for name in ("torch", "ctranslate2")},
        "options": options,
    }
