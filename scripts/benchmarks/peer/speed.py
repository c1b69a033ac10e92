"""Training steps of fairseq's model, of ours and of eole in turn: target tokens a second."""

import contextlib
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from benchmarks.model.spec import Spec
from benchmarks.model.worker import FailedError, Worker
from benchmarks.peer import settings
from benchmarks.peer.decoding import PEER
from benchmarks.peer.log import training_rates
from benchmarks.peer.toolkit import Eole
from benchmarks.report import ranged, table
from fairseq_rope_data.errors import UserError

# of settings.py; eole's layer norms stand before their blocks, so these do
_SAME = ("--encoder-normalize-before", "--decoder-normalize-before", "--dropout", str(settings.DROPOUT))
Rates = dict[str, list[float]]


def training_speed(eole: Eole, work: Path, todo: settings.Plan, *, updates: int, repetitions: int) -> Rates:
    """Return the target tokens a second of `updates` updates, model by model, one a repetition.

    Each has made as many updates before that don't count.

    Raises:
        UserError: one of them failed.
    """
    rates: Rates = {"stock": [], "rope": [], PEER: []}
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        workers = {}
        for name in ("stock", "rope"):
            places = (str(work / "data-bin"), str(folder))
            tokens = settings.MAX_TOKENS
            spec = Spec("train", name, "tiny", "fp32", "cpu", *places, _SAME, max_tokens=tokens, updates=updates)
            workers[name] = Worker(spec)
            stack.callback(workers[name].close)
            workers[name].wait()
        for turn in range(-1, repetitions):
            for name, worker in workers.items():
                try:
                    repetition = worker.repeat()
                except FailedError as error:
                    raise UserError(f"{name}: {error}") from error
                rates[name] += [repetition.tokens / repetition.seconds] * (turn >= 0)
            if turn >= 0:
                rates[PEER].append(_eole_rate(eole, todo, folder / f"eole{turn}", updates=updates, seed=turn + 1))
                print(f"repetition {turn + 1} of {repetitions}", file=sys.stderr)
    return rates


def speed_table(rates: Rates) -> str:
    """Return the table; speeds are ratios to eole, turn by turn."""
    rows = []
    for name, values in rates.items():
        ratios = [value / peer for value, peer in zip(values, rates[PEER], strict=True)]
        rows.append([name, ranged(values, "{:,.0f}"), ranged(ratios, "{:.2f}", "x")])
    return table(["model", "training, tokens/s", f"against {PEER}"], rows)


def _eole_rate(eole: Eole, todo: settings.Plan, folder: Path, *, updates: int, seed: int) -> float:
    """Train from the start in a new folder; return the rate of the second half."""
    folder.mkdir()
    short = replace(todo, updates=2 * updates, report=updates, seed=seed, validates=False)
    configuration = settings.training_settings(short)
    configuration["training"]["model_path"] = str(folder / "model")
    configuration["save_data"] = str(folder / "data")
    log = folder / "eole.log"
    eole.run("train", configuration, folder / "train.json", log=log)
    return dict(training_rates(log))[2 * updates]
