"""How long idle threads should wait for each other: training, decoding and CTranslate2, alone and on a busy machine.

    python scripts/benchmark_waiting.py
    python scripts/benchmark_waiting.py train --settings OMP_WAIT_POLICY=PASSIVE GOMP_SPINCOUNT=1000 --company 0 2

After each parallel loop the threads of OpenMP spin until the last one is through. That is quick on a quiet machine, and
ruinous where one of them has lost its core to another program. Each setting of the environment has processes of its
own, measured in turn; `none` is torch's own way, without the package's GOMP_SPINCOUNT. Company are single-threaded
programs that never rest.

train        the rotary model through fairseq's Trainer, target tokens a second
generate     the same through fairseq-generate, beam 4, random weights, 30 tokens a translation
ctranslate2  the same through `translate --engine ctranslate2`, int8
"""

import logging
import sys
from argparse import Namespace
from pathlib import Path

from benchmarks.environment import CORES, environment
from benchmarks.model.build import SIZES
from benchmarks.options import count
from benchmarks.report import write_json
from benchmarks.waiting.rates import NONE, WORKS, rates, rates_table
from fairseq_rope_data import cli
from fairseq_rope_data.errors import UserError, run

SETTINGS = (NONE, "OMP_WAIT_POLICY=PASSIVE", "GOMP_SPINCOUNT=1000", "GOMP_SPINCOUNT=10000", "GOMP_SPINCOUNT=100000")


def main() -> None:
    """Read the options, measure, print the table.

    Raises:
        UserError: an option breaks its rule.
    """
    args = _read()
    logging.disable(logging.INFO)  # of fairseq
    rows = []
    for work in args.works:
        for company in args.company:
            print(f"{work}, company of {company} ...", file=sys.stderr, flush=True)
            rows.append({"work": work, "company": company, "rates": rates(args, work, company)})
            print(rates_table(rows[-1:], args.settings).splitlines()[-1], file=sys.stderr, flush=True)
    facts = environment("cpu")
    print(rates_table(rows, args.settings))
    print("\n" + ", ".join(f"{name} {value}" for name, value in facts.items()))
    write_json(args.output, {"environment": facts, "rows": rows})


def _read() -> Namespace:
    options = cli.parser(__doc__, "benchmark_waiting.py")
    add = options.add_argument
    add("works", nargs="*", metavar="WORK", help=f"what to measure: {', '.join(WORKS)} (all)")
    add("--settings", nargs="+", default=list(SETTINGS), metavar="NAME=VALUE", help=f"({' '.join(SETTINGS)})")
    add("--company", nargs="+", type=int, default=[0, 2, 3], metavar="N", help="programs beside it (0 2 3)")
    add("--nice", type=int, default=0, metavar="N", help="their niceness, 0 to 19 (0)")
    add("--size", choices=SIZES, default="tiny", help="of the model (tiny)")
    add("--max-tokens", type=count, default=4096, metavar="N", help="tokens in a training batch (4096)")
    add("--updates", type=count, default=2, metavar="N", help="training steps in a repetition (2)")
    add("--sentences", type=count, default=100, metavar="N", help="sentences that are translated (100)")
    add("--repetitions", type=count, default=5, metavar="N", help="repetitions of each (5)")
    add("--threads", type=count, default=CORES, metavar="N", help="of ctranslate2 (all cores)")
    add("--work", type=Path, default=Path("runs/benchmark"), metavar="DIR", help="folder for what is made")
    add("--output", type=Path, metavar="FILE", help="write all figures as JSON")
    args = options.parse_args()
    args.works = args.works or list(WORKS)
    if unknown := set(args.works) - set(WORKS):
        raise UserError(f"WORK must be one of {', '.join(WORKS)}, but is {', '.join(sorted(unknown))}")
    if bad := [setting for setting in args.settings if setting != NONE and "=" not in setting]:
        raise UserError(f"--settings must be NAME=VALUE or {NONE}, but is {bad[0]}")
    args.work.mkdir(parents=True, exist_ok=True)
    args.work = args.work.resolve()
    return args


if __name__ == "__main__":
    run("benchmark_waiting", main)
