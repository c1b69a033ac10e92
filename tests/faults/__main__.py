"""Run the harness, as `bash scripts/test.sh --faults` does.

A part is a module of this folder with `run(work, rng, count, report)`, and `FULL` and `QUICK`, its counts.
"""

import argparse
import importlib
import random
import shutil
import signal
import sys
import tempfile
import traceback
from pathlib import Path

from tests.faults.report import Report

PARTS = ("bad_input", "kills", "text", "files", "configurations")


def parser() -> argparse.ArgumentParser:
    """The options."""
    made = argparse.ArgumentParser(prog="python -m tests.faults", description="Kills, bad input, fuzz, odd models.")
    made.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)}; all of them by default")
    made.add_argument("--kills", type=int, metavar="N", help="how many times a run is killed")
    made.add_argument("--seed", type=int, help="repeats a run; without it one is drawn and printed")
    made.add_argument("--case", type=int, metavar="N", help="this case of the part alone")
    made.add_argument("--quick", action="store_true", help="the part of it that continuous integration runs")
    made.add_argument(
        "--work", type=Path, metavar="DIR", help="keep the files here (default: a folder that is removed)"
    )
    return made


def main() -> int:
    """Run the parts; the exit status is 0 when every case passed."""
    # where a shell started this in the background INT is ignored, and would be in all that is started here
    signal.signal(signal.SIGINT, signal.default_int_handler)
    options = parser()
    args = options.parse_args()
    for name in args.parts:
        if name not in PARTS:
            options.error(f"a part must be of {', '.join(PARTS)}, but is {name}")
    if args.kills is not None and args.kills < 1:
        options.error(f"--kills must be at least 1, but is {args.kills}")
    if args.case is not None and len(args.parts) != 1:
        options.error("--case needs the one part it is of")
    seed = random.SystemRandom().randrange(10**6) if args.seed is None else args.seed
    work = args.work or Path(tempfile.mkdtemp(prefix="faults-"))
    print(f"seed {seed}, files in {work}", file=sys.stderr)
    report = Report(seed, only=args.case)
    for name in args.parts or PARTS:
        part = importlib.import_module(f"tests.faults.{name}")
        count = part.QUICK if args.quick else part.FULL
        if name == "kills" and args.kills is not None:
            count = args.kills
        report.begin(name)
        (work / name).mkdir(parents=True, exist_ok=True)
        try:
            part.run((work / name).resolve(), report.rng("all"), count, report)
        except Exception:  # the other parts are run all the same
            report.failed("0 the part itself", traceback.format_exc())
    print(report.summary())
    if args.work is None and report.status == 0:
        shutil.rmtree(work)
    return report.status


if __name__ == "__main__":
    sys.exit(main())
