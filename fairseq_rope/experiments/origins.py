"""Where the runs of an experiment come from: text, starts, hardware, versions, and whether they are the same in all."""

import itertools
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from fairseq_rope.experiments.work_folder import TRAINED, Model, is_trained
from fairseq_rope_data.errors import UserError

STARTS = "provenance.jsonl"
PRECISION = "precision"
_SHA256 = re.compile(r"sha256 ([0-9a-f]{8})")

Run = tuple[str, int]  # model and seed


def run_starts(run: Path) -> list[dict[str, Any]]:
    """Return what provenance.jsonl says of each start of a run; none where there is no such file.

    Raises:
        UserError: a line is no JSON object, or its GPUs or versions are not what recipes write.
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
        _check_start(starts[-1], f"{path}:{number}")
    return starts


def _check_start(start: Mapping[str, Any], named: str) -> None:
    gpus, versions = start.get("gpus") or [], start.get("versions") or {}
    if not isinstance(gpus, list) or not all(isinstance(each, str) for each in gpus):
        raise UserError(f"{named}: gpus must be a list of names, but is {str(gpus)[:80]}")
    if not isinstance(versions, dict) or not all(isinstance(each, str) for each in versions.values()):
        raise UserError(f"{named}: versions must be names and versions, but is {repr(versions)[:80]}")


def origin_notes(models: Sequence[Model]) -> list[str]:
    """Return lines that say in what the trainings of these models differ but their settings; none where in nothing.

    One is of the text, another one of commits, processors, GPUs, precisions and versions of all starts. What has no
    record is left out, and of precisions what has an older one.

    Raises:
        UserError: see `run_starts`.
    """
    # what is decoded otherwise is trained in another folder
    folders = {
        (model.name, seed): (path / TRAINED).resolve().parent
        for model in models
        for seed, path in model.runs.items()
        if is_trained(path)
    }
    return [*_text_notes(folders), *_start_notes(folders)]


def _text_notes(folders: Mapping[Run, Path]) -> list[str]:
    """Return a line where runs were made from other text: another one of a name, by the first digits of its SHA-256."""
    given = {run: _given(path / "settings") for run, path in folders.items()}
    differences = []
    for name in dict.fromkeys(name for texts in given.values() for name in texts):
        values = {run: [texts[name]] for run, texts in given.items() if name in texts}
        if len({*map(tuple, values.values())}) > 1:
            differences.append(f"{name} {_listed(values)}")
    return [f"note: not all runs were made from the same text: {'; '.join(differences)}"] if differences else []


def _given(record: Path) -> dict[str, str]:
    """Return name -> first digits of the SHA-256 of each text that a record of settings begins with."""
    if not record.is_file():
        return {}
    begin, *lines = record.read_text(encoding="utf-8", errors="replace").splitlines() or [""]
    texts = itertools.takewhile(lambda line: begin == "[given]" and not line.startswith("["), lines)
    # of a text without some lines there are two
    found = ((line.partition(": ")[0], "-".join(_SHA256.findall(line))) for line in texts if not line.startswith("#"))
    return {f"file {i}" if "sha256" in name else name: value for i, (name, value) in enumerate(found, 1) if value}


def _start_notes(folders: Mapping[Run, Path]) -> list[str]:
    """Return a line where runs were trained with other code, hardware, precision or versions."""
    starts = {run: run_starts(path) for run, path in folders.items()}
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
