r"""The rotary model against eole's: one text, one size, batches, updates and a search alike, on the CPU.

    python scripts/benchmark_peer.py runs/multi30k
    python scripts/benchmark_peer.py runs/multi30k --speed

WORK is a work folder of scripts/run_multi30k.sh. eole trains in WORK/peer as many updates as our model did there, with
the settings of scripts/conf/multi30k.env, averages its last ten checkpoints, and translates the test set with them; the
table stands beside what the work folder says of our models. Both translate it in turn, --repetitions times. Run again,
it continues. --speed needs no trained model: it measures training steps of fairseq's model, ours and eole's in turn,
in minutes. scripts/benchmarks/peer/settings.py says what eole does otherwise.

eole has its layer norms before the blocks only. A model of ours with the same, to stand beside it:

    bash scripts/run_multi30k.sh --conf multi30k_prenorm --models "rope prenorm"
    python scripts/benchmark_peer.py runs/multi30k --models rope prenorm

eole 0.6 lives in an environment of its own, .venv-eole, which is made once, with internet; on a machine without a GPU
TORCH_INDEX_URL=https://download.pytorch.org/whl/cpu saves several GB. All of it in minutes, on a few hundred lines of
text, train.en and so on:

    MAX_EPOCH=10 WORK=runs/few bash scripts/run_bitext.sh --train train --valid valid --test test -s en -t de \
        --conf multi30k_prenorm --models "rope prenorm"
    python scripts/benchmark_peer.py runs/few --models rope prenorm
"""

import os
import sys
from argparse import Namespace
from pathlib import Path

from benchmarks.environment import environment
from benchmarks.options import count
from benchmarks.peer import comparison, decoding, speed, training
from benchmarks.peer.toolkit import Eole, locked
from benchmarks.report import Row, write_json
from fairseq_rope_data import cli
from fairseq_rope_data.errors import run


def main() -> None:
    """Read the options, compare, print the table."""
    args = _read()
    training.check_prepared(args.work)
    if not args.speed:
        comparison.check_models(args.work, args.models)
    eole = Eole(args.eole)
    # threads of both wait alike, as those of recipes do: see fairseq_rope/compat/openmp.py
    if not os.environ.get("OMP_WAIT_POLICY"):
        os.environ.setdefault("GOMP_SPINCOUNT", "10000")
    folder = args.work / "peer"
    with locked(folder):
        training.convert(args.work, folder)
        figures = _speed(args, eole, folder) if args.speed else _compared(args, eole, folder)
    facts = {**environment("cpu"), **{f"{name} of eole": value for name, value in eole.versions.items()}}
    print("\n" + ", ".join(f"{name} {value}" for name, value in facts.items()))
    write_json(args.output, {"environment": facts, **figures})


def _compared(args: Namespace, eole: Eole, folder: Path) -> Row:
    todo = training.plan(args.work, folder, next(iter(args.models), None), updates=args.updates)
    print(f"eole: {todo.updates} updates of {todo.batch_size} tokens, {todo.epoch} an epoch", file=sys.stderr)
    training.keep_plan(eole, todo)
    training.train(eole, todo)
    averaged = training.average(eole, todo)
    facts = comparison.check_facts(eole.checkpoint("facts", averaged))
    times = decoding.decoding_times(eole, args.work, folder, args.models, repetitions=args.repetitions)
    report = decoding.score(args.work, folder)
    rows = [comparison.our_row(args.work, model, times) for model in args.models]
    rows.append(comparison.eole_row(todo, facts, report, times))
    print(comparison.comparison_table(rows))
    if args.models:
        print("\n" + comparison.parameter_note(rows))
    return {"rows": rows}


def _speed(args: Namespace, eole: Eole, folder: Path) -> Row:
    updates = args.updates or 10
    todo = training.plan(args.work, folder, None, updates=updates)
    rates = speed.training_speed(eole, args.work, todo, updates=updates, repetitions=args.repetitions)
    print(speed.speed_table(rates))
    return {"rates": rates}


def _read() -> Namespace:
    options = cli.parser(__doc__, "benchmark_peer.py")
    add = options.add_argument
    add("work", type=Path, metavar="WORK", help="a work folder of run_multi30k.sh, prepared; without --speed trained")
    add("--models", nargs="*", default=["rope"], metavar="NAME", help="ours in the table (rope); none: eole alone")
    add("--speed", action="store_true", help="measure training steps in turn, and nothing else")
    add("--updates", type=count, metavar="N", help="of eole (as our first model; --speed: 10 a repetition)")
    add("--repetitions", type=count, default=3, metavar="N", help="searches, or with --speed measurements (3)")
    add("--eole", type=Path, metavar="DIR", help="an environment that has eole 0.6 (.venv-eole, made if need be)")
    add("--output", type=Path, metavar="FILE", help="write all figures as JSON")
    args = options.parse_args()
    args.work = args.work.resolve()
    return args


if __name__ == "__main__":
    run("benchmark_peer", main)
