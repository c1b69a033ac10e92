"""The table of our models and eole: what was trained, how fast, how fast it translates, and its scores."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.peer.decoding import PEER, Times
from benchmarks.peer.log import training_rate
from benchmarks.peer.settings import Plan
from benchmarks.report import Row, ranged, table
from fairseq_rope.experiments.train_log import read_train_log
from fairseq_rope.scoring.report_file import read_report
from fairseq_rope_data.errors import UserError

HEADINGS = ("model", "parameters", "updates", "training, tokens/s", "test set, s", "BLEU4", "BLEU", "chrF2")


def check_models(work: Path, models: Sequence[str]) -> None:
    """Check that the work folder has these models of ours, trained, averaged and scored.

    Raises:
        UserError: a file of one of them is missing.
    """
    for model in models:
        for name in ("train.log", "averaged.pt", "score-test.json"):
            if not (work / model / name).is_file():
                raise UserError(f"--models {model}: there is no {work / model / name}; see scripts/run_multi30k.sh")


def our_row(work: Path, model: str, times: Times) -> Row:
    """Return what the work folder says of a model of ours."""
    log = read_train_log(work / model / "train.log")
    return {
        "model": model,
        "parameters": log.parameters,
        "updates": log.validations[-1].updates,
        "rate": log.words_per_second,
        "seconds": times[model],
        "scores": _scores(work / model / "score-test.json"),
    }


def eole_row(todo: Plan, facts: dict[str, Any], report: Path, times: Times) -> Row:
    """Return the same of eole; `facts` are those of checkpoint.py."""
    return {
        "model": PEER,
        "parameters": facts["parameters"],
        "updates": todo.updates,
        "rate": training_rate(todo.folder / "eole.log"),
        "seconds": times[PEER],
        "scores": _scores(report),
    }


def check_facts(text: str) -> dict[str, Any]:
    """Return what checkpoint.py says of eole's model.

    Raises:
        UserError: it has no rotation, or more than one matrix of embeddings: its numbers would be another model's.
    """
    facts: dict[str, Any] = json.loads(text)
    for name, words in (("rotates", "rotate queries and keys alone"), ("shares_embeddings", "share all embeddings")):
        if not facts[name]:
            raise UserError(f"eole's model must {words}, but does not: settings of another version?")
    return facts


def comparison_table(rows: Sequence[Row]) -> str:
    """Return the table; a rate is of target tokens with </s>, a time the median of a row's searches."""
    return table(HEADINGS, map(_cells, rows))


def parameter_note(rows: Sequence[Row]) -> str:
    """Return what is to be said of the numbers of parameters."""
    (theirs,) = (row["parameters"] for row in rows if row["model"] == PEER)
    differences = [f"{theirs - row['parameters']:+,} than {row['model']}" for row in rows if row["model"] != PEER]
    return f"parameters of {PEER}: {', '.join(differences)}; 512 are the layer norms at the end of stacks with pre-norm"


def _cells(row: Row) -> list[str]:
    scores = [row["scores"].get(name) for name in HEADINGS[-3:]]
    return [
        row["model"],
        f"{row['parameters']:,}",
        f"{row['updates']:,}",
        f"{row['rate']:,.0f}",
        ranged(row["seconds"], "{:.1f}"),
        *("-" if value is None else f"{value:.2f}" for value in scores),
    ]


def _scores(path: Path) -> dict[str, float]:
    return {score["name"]: score["value"] for score in read_report(path)["scores"]}
