"""Tokens a second under each setting of waiting threads, with other programs beside it."""

import contextlib
import os
import subprocess
import sys
from argparse import Namespace
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from benchmarks.engines.process import EngineProcess
from benchmarks.model import build, data
from benchmarks.model.spec import Spec
from benchmarks.model.worker import Worker
from benchmarks.report import Row, ranged, table
from fairseq_rope.export.ctranslate2 import export_checkpoint

WORKS = ("train", "generate", "ctranslate2")
NONE = "none"
_WAITING = ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT")
_WORDS = 29  # of a translation, before its end


def rates(args: Namespace, work: str, company: int) -> dict[str, list[float]]:
    """Return the tokens a second of each setting, one a repetition."""
    measured: dict[str, list[float]] = {setting: [] for setting in args.settings}
    with contextlib.ExitStack() as stack:
        repeats = {setting: stack.enter_context(_prepared(args, work, setting)) for setting in args.settings}
        stack.enter_context(_company(company, args.nice))
        for i in range(-1, args.repetitions):
            for setting, repeat in list(repeats.items())[:: 1 if i % 2 else -1]:
                rate = repeat()
                measured[setting] += [rate] * (i >= 0)  # the first round warms up
    return measured


def rates_table(rows: list[Row], settings: list[str]) -> str:
    """Return the tokens a second of the first setting, and the others' speed against it."""
    first, *others = settings
    lines = []
    for row in rows:
        base = row["rates"][first]
        line = [row["work"], str(row["company"]), ranged(base, "{:,.0f}")]
        for setting in others:
            ratios = [rate / its_base for rate, its_base in zip(row["rates"][setting], base, strict=True)]
            line.append(ranged(ratios, "{:.2f}", "x"))
        lines.append(line)
    return table(["work", "company", f"{first}, tokens/s", *others], lines)


@contextlib.contextmanager
def _prepared(args: Namespace, work: str, setting: str) -> Iterator[Callable[[], float]]:
    """Start a process under `setting`; yield what measures it once, in tokens a second."""
    name, _, value = setting.partition("=")
    with contextlib.ExitStack() as stack:
        with _environment({} if setting == NONE else {name: value}):
            if work == "ctranslate2":
                engine = EngineProcess(_options(args), limit=None, threads=args.threads)
                stack.callback(engine.close)
                engine.search()  # the process starts here
            else:
                worker = Worker(_spec(args, work))
                stack.callback(worker.close)
                worker.wait()

        def repeat() -> float:
            if work == "ctranslate2":
                seconds, result = engine.search()
                return result.tokens / seconds
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
    corpus = data.synthetic_corpus(args.work, build.VOCABULARIES[args.size], pairs=20_000, test_pairs=args.sentences)
    spec = Spec(kind, "rope", args.size, "fp32", "cpu", str(corpus), str(args.work))
    if kind == "train":
        return replace(spec, max_tokens=args.max_tokens, updates=args.updates)
    return replace(spec, batch="32", steps=_WORDS + 1, checkpoint=build.random_checkpoint(spec, args.work))


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
