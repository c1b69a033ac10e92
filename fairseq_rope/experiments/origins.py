"""Where the runs of an experiment come from: starts, hardware, versions, and whether they are the same in all."""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from fairseq_rope.experiments.work_folder import TRAINED, Model, is_trained
from fairseq_rope_data.errors import UserError

STARTS = "provenance.jsonl"
PRECISION = "precision"

Run = tuple[str, int]  # model and seed


def run_starts(run: Path) -> list[dict[str, Any]]:
    """Return what provenance.jsonl says of each start of a run; none where there is no such file.

    Raises:
        UserError: a line is no JSON object.
    """
    path = run / STARTS
    if not path.is_file():
        return []
    starts = []
    for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), 1):
        try:
            starts.append(json.loads(line))
        except ValueError:
            raise UserError(f"{path}:{number}: a line must be a JSON object, but is {line[:80]!r}") from None
        if not isinstance(starts[-1], dict):
            raise UserError(f"{path}:{number}: a line must be a JSON object, but is {line[:80]!r}")
    return starts


def origin_notes(models: Sequence[Model]) -> list[str]:
    """Return a line that says in what the trainings of these models differ but their settings; none where in nothing.

    Commits, processors, GPUs, precisions and versions are compared, of all starts; what has no record is left out, and
    of precisions what has an older one.

    Raises:
        UserError: see `run_starts`.
    """
    # what is decoded otherwise is trained in another folder
    folders = {(model.name, seed): path for model in models for seed, path in model.runs.items() if is_trained(path)}
    starts = {run: run_starts((path / TRAINED).resolve().parent) for run, path in folders.items()}
    facts = {run: [_facts(start) for start in each] for run, each in starts.items() if each}
    differences = []
    for name in dict.fromkeys(name for run in facts.values() for start in run for name in start):
        values = {run: found for run, each in facts.items() if (found := _values(each, name))}
        if len({frozenset(each) for each in values.values()}) > 1:
            differences.append(f"{name} {_listed(values)}")
    if not differences:
        return []
    same = "the same code, hardware, precision and versions"
    return [f"note: not all runs were trained with {same}: {'; '.join(differences)}"]


def _facts(start: Mapping[str, Any]) -> dict[str, str]:
    known = {name: str(start.get(name) or "unknown") for name in ("commit", "processor")}
    gpus = {"GPUs": ", ".join(start.get("gpus") or ()) or "none"}
    # records of before 2026-11-27 do not say it, which is no difference
    precision = {PRECISION: str(start[PRECISION])} if start.get(PRECISION) else {}
    return {**known, **gpus, **precision, **(start.get("versions") or {})}


def _values(starts: Sequence[Mapping[str, str]], name: str) -> list[str]:
    """Return what a fact was at the starts of a run, each value once; none where that is not known of a precision."""
    return [*dict.fromkeys(start.get(name, "none") for start in starts if name != PRECISION or name in start)]


def _listed(values: Mapping[Run, Sequence[str]]) -> str:
    """Return each value and the runs that have it."""
    by_value: dict[str, list[Run]] = {}
    for run, found in values.items():
        for value in found:
            by_value.setdefault(value, []).append(run)
    return ", ".join(f"{value} ({_named(runs, values)})" for value, runs in by_value.items())


def _named(runs: Sequence[Run], known: Iterable[Run]) -> str:
    """Return the names of runs: a model's alone where it has no other known run."""
    names = []
    for model in dict.fromkeys(model for model, _ in runs):
        seeds = [str(seed) for name, seed in runs if name == model]
        is_all = len(seeds) == sum(name == model for name, _ in known)
        names.append(model if is_all else f"{model} seed {', '.join(seeds)}")
    return ", ".join(names)
