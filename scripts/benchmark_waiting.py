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

import argparse
import contextlib
import json
import logging
import os
import statistics
import subprocess
import sys
from argparse import Namespace
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.engines.process import Contender
from benchmarks.environment import environment
from benchmarks.model import build, data
from benchmarks.model.options import positive
from benchmarks.model.spec import Spec
from benchmarks.model.worker import Worker
from fairseq_rope.export.ctranslate2 import export_checkpoint
from fairseq_rope_data.errors import UserError, run
from fairseq_rope_data.files import complete_file

WORKS = ("train", "generate", "ctranslate2")
NONE = "none"
SETTINGS = (NONE, "OMP_WAIT_POLICY=PASSIVE", "GOMP_SPINCOUNT=1000", "GOMP_SPINCOUNT=10000", "GOMP_SPINCOUNT=100000")
_WAITING = ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT")
_WORDS = 29  # of a translation, before its end
Row = dict[str, Any]


def rates(args: Namespace, work: str, company: int) -> dict[str, list[float]]:
    """Give the tokens a second of each setting, one a repetition."""
    found: dict[str, list[float]] = {setting: [] for setting in args.settings}
    with contextlib.ExitStack() as stack:
        repeats = {setting: stack.enter_context(_prepared(args, work, setting)) for setting in args.settings}
        stack.enter_context(_company(company, args.nice))
        for i in range(-1, args.repetitions):
            for setting, repeat in list(repeats.items())[:: 1 if i % 2 else -1]:
                rate = repeat()
                found[setting] += [rate] * (i >= 0)  # the first round warms up
    return found


@contextlib.contextmanager
def _prepared(args: Namespace, work: str, setting: str) -> Iterator[Callable[[], float]]:
    """Start a process under `setting`; give what measures it once, in tokens a second."""
    name, _, value = setting.partition("=")
    with contextlib.ExitStack() as stack:
        with _environment({} if setting == NONE else {name: value}):
            if work == "ctranslate2":
                contender = Contender(_options(args), limit=None, threads=args.threads)
                stack.callback(contender.close)
                contender.search()  # the process starts here
            else:
                worker = Worker(_spec(args, work))
                stack.callback(worker.close)
                worker.wait()

        def repeat() -> float:
            if work == "ctranslate2":
                seconds, found = contender.search()
                return found.tokens / seconds
            repetition = worker.repeat()
            return repetition.tokens / repetition.seconds

        yield repeat


@contextlib.contextmanager
def _environment(settings: dict[str, str]) -> Iterator[None]:
    """Start processes with these settings of waiting alone; the package has set its own for this process."""
    before = dict(os.environ)
    for name in _WAITING:
        os.environ.pop(name, None)
    os.environ.update(settings)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


@contextlib.contextmanager
def _company(count: int, nice: int) -> Iterator[None]:
    """Keep `count` single-threaded programs running that never rest."""
    command = ["nice", "-n", str(nice), sys.executable, "-c", "while True: pass"]
    programs = [subprocess.Popen(command) for _ in range(count)]
    try:
        yield
    finally:
        for program in programs:
            program.kill()
            program.wait()


def _spec(args: Namespace, kind: str) -> Spec:
    corpus = data.make(args.work, build.VOCABULARIES[args.size], pairs=20_000, test_pairs=args.sentences)
    spec = Spec(kind, "rope", args.size, "fp32", "cpu", str(corpus), str(args.work))
    if kind == "train":
        return replace(spec, max_tokens=args.max_tokens, updates=args.updates)
    return replace(spec, batch="32", steps=_WORDS + 1, checkpoint=str(_checkpoint(args, spec)))


def _checkpoint(args: Namespace, spec: Spec) -> Path:
    path: Path = args.work / f"random-rope-{args.size}.pt"
    if not path.exists():
        build.trainer(spec, build.training_options(spec, max_tokens=1024)).save_checkpoint(str(path), {})
    return path


def _options(args: Namespace) -> list[str]:
    spec = _spec(args, "generate")
    folder = args.work / f"random-rope-{args.size}-int8"
    if not folder.exists():
        export_checkpoint(Path(spec.checkpoint), Path(spec.data), folder, quantization="int8")
    return [
        *(spec.data, "--path", str(folder), "--engine", "ctranslate2", "--cpu", "--beam", "4", "--lenpen", "0.6"),
        # random weights never end a translation, so all are as long
        *("--max-len-a", "0", "--max-len-b", str(_WORDS)),
    ]


def table(rows: list[Row], settings: list[str]) -> str:
    """Lay rows out in Markdown: tokens a second of the first setting, and the others' speed against it."""
    first, *others = settings
    lines = [
        f"| work | company | {first}, tokens/s | {' | '.join(others)} |",
        "|---|---" + "|---" * len(settings) + "|",
    ]
    for row in rows:
        base = row["rates"][first]
        cells = [f"{statistics.median(base):,.0f} ({min(base):,.0f} to {max(base):,.0f})"]
        for setting in others:
            ratios = [mine / theirs for mine, theirs in zip(row["rates"][setting], base, strict=True)]
            cells.append(f"{statistics.median(ratios):.2f}x ({min(ratios):.2f} to {max(ratios):.2f})")
        lines.append(f"| {row['work']} | {row['company']} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _read() -> Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("works", nargs="*", metavar="WORK", help=f"what to measure: {', '.join(WORKS)} (all)")
    add("--settings", nargs="+", default=list(SETTINGS), metavar="NAME=VALUE", help=f"({' '.join(SETTINGS)})")
    add("--company", nargs="+", type=int, default=[0, 2, 3], metavar="N", help="programs beside it (0 2 3)")
    add("--nice", type=int, default=0, metavar="N", help="their niceness, 0 to 19 (0)")
    add("--size", choices=build.SIZES, default="tiny", help="of the model (tiny)")
    add("--max-tokens", type=positive, default=4096, metavar="N", help="tokens in a training batch (4096)")
    add("--updates", type=positive, default=2, metavar="N", help="training steps in a repetition (2)")
    add("--sentences", type=positive, default=100, metavar="N", help="sentences that are translated (100)")
    add("--repetitions", type=positive, default=5, metavar="N", help="repetitions of each (5)")
    add(
        "--threads",
        type=positive,
        default=len(os.sched_getaffinity(0)),
        metavar="N",
        help="of ctranslate2 (all cores)",
    )
    add("--work", type=Path, default=Path("runs/benchmark"), metavar="DIR", help="folder for what is made")
    add("--output", type=Path, metavar="FILE", help="write all figures as JSON")
    args = parser.parse_args()
    args.works = args.works or list(WORKS)
    if unknown := set(args.works) - set(WORKS):
        raise UserError(f"WORK must be one of {', '.join(WORKS)}, but is {', '.join(sorted(unknown))}")
    if bad := [setting for setting in args.settings if setting != NONE and "=" not in setting]:
        raise UserError(f"--settings must be NAME=VALUE or {NONE}, but is {bad[0]}")
    args.work.mkdir(parents=True, exist_ok=True)
    args.work = args.work.resolve()
    return args


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
            print(table(rows[-1:], args.settings).splitlines()[-1], file=sys.stderr, flush=True)
    found = environment("cpu")
    print(table(rows, args.settings))
    print("\n" + ", ".join(f"{name} {value}" for name, value in found.items()))
    if args.output:
        with complete_file(args.output) as part:
            part.write_text(json.dumps({"environment": found, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    run("benchmark_waiting", main)
