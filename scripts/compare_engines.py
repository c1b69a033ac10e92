"""Compare CTranslate2 with fairseq's generator on a test set: translations, scores, BLEU4 and the time of the search.

    python scripts/compare_engines.py data-bin --path averaged.pt --beam 4 --lenpen 0.6 --remove-bpe --cpu

The checkpoint is written for CTranslate2 in each --quantization. All engines search by turns, each in a process of its
own, for the same binarized sentences, --gen-subset, in the batches and with the threads of `translate`: tokenizing,
loading and export don't count. A time is the median of --repeats after a first round that doesn't count, with the least
and the greatest. Below the table stand the sentences whose text differs from fairseq's, with both scores: where those
are equal, two translations are as good as each other.

All other options are those of fairseq_rope.tools.translate, for both engines.
"""

import argparse
import contextlib
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.engines.comparison import commands, compared, differences, engines_table, facts, measured
from benchmarks.engines.process import EngineProcess
from benchmarks.environment import CORES
from benchmarks.options import count
from benchmarks.report import Row, write_json
from fairseq_rope.compat.chatter import silence_libraries
from fairseq_rope.export.ctranslate2.model_folder import QUANTIZATIONS
from fairseq_rope.export.ctranslate2.spec import RUNTIME_LAYOUT
from fairseq_rope.modules.positions.layouts import LAYOUTS
from fairseq_rope_data import cli
from fairseq_rope_data.errors import run


def main() -> None:
    args, options = _parser().parse_known_args()
    silence_libraries()
    rows = _measured(args, options)
    print(engines_table(rows))
    for row in rows:
        if row["different"]:
            print(differences(row, most=args.show))
    write_json(args.json, {**facts(args, options), "rows": rows})


def _measured(args: argparse.Namespace, options: Sequence[str]) -> list[Row]:
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        engines = {}
        for name, command in commands(args, options, Path(folder)).items():
            engines[name] = EngineProcess(command, limit=args.limit, threads=args.threads)
            stack.callback(engines[name].close)
        return compared(measured(engines, repeats=args.repeats))


def _parser() -> argparse.ArgumentParser:
    options = cli.parser(__doc__, "compare_engines.py", allow_abbrev=False)
    add = options.add_argument
    add("--quantization", nargs="+", choices=QUANTIZATIONS, default=["float32", "int8"], metavar="Q")
    add("--layouts", nargs="+", choices=LAYOUTS, default=[RUNTIME_LAYOUT], metavar="L", help="rotary pairs as written")
    add("--stock", metavar="FILE", help="a checkpoint of fairseq's own model: speeds are relative to its search")
    add("--repeats", type=count, default=5, metavar="N")
    add("--threads", type=count, default=CORES, metavar="N", help="on the CPU, for each engine (default: all)")
    add("--limit", type=count, metavar="N", help="take the first N sentences only")
    add("--show", type=int, default=20, metavar="N", help="print the first N sentences that differ, of each engine")
    add("--json", type=Path, metavar="FILE", help="write the figures and all sentences that differ to this file, too")
    return options


if __name__ == "__main__":
    run("compare_engines", main)
