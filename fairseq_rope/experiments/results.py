"""The results of an experiment, as Markdown tables and as JSON."""

import dataclasses
import json
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from fairseq_rope.experiments.differences import comparison_table, differences
from fairseq_rope.experiments.markdown import table
from fairseq_rope.experiments.statistic import Statistic, cell
from fairseq_rope.experiments.work_folder import Model, bucket_statistics, find_models, reports, run_statistics
from fairseq_rope.scoring.checks import ORDER_NOTE

Rows = dict[str, dict[int, Statistic]]  # name of the statistic -> that of each seed that has it
StatisticsOf = Callable[[Path], dict[str, Statistic]]


def results_text(work: Path, names: Sequence[str] = ()) -> str:
    """Return the results as text: see `tools.results`.

    Args:
        work: a recipe's work folder.
        names: see `find_models`.

    Raises:
        UserError: see `find_models`, `read_train_log`, `read_report` and `compare_files`.
    """
    models = find_models(work, names)
    folders = _folders(models)
    lines = [f"{name}: {each}" for name, signatures in _signatures(folders).items() for each in signatures]
    parts = ["\n".join([statistics_table(models, run_statistics), *lines, *_notes(folders)])]
    if any(bucket_statistics(folder) for folder in folders):
        parts.append(f"BLEU by words of the source:\n\n{statistics_table(models, bucket_statistics)}")
    for each in differences(work, models):
        title = (
            f"Paired bootstrap on {each.test_set}, seed {each.seed}, the baseline first: score (mean ± 95% interval)"
        )
        parts.append(f"{title}\n\n{comparison_table(each.comparisons)}")
    return "\n\n".join(parts)


def results_json(work: Path, names: Sequence[str] = ()) -> str:
    """Return the results as a JSON object on one line; for arguments and errors see `results_text`."""
    models = find_models(work, names)
    folders = _folders(models)
    fields: dict[str, Any] = {
        "figures": {model.name: _values(_rows(model, run_statistics)) for model in models},
        "buckets": {model.name: _values(_rows(model, bucket_statistics)) for model in models},
        "signatures": _signatures(folders),
        "notes": _notes(folders),
        "differences": [dataclasses.asdict(each) for each in differences(work, models)],
    }
    return json.dumps(fields, ensure_ascii=False)


def statistics_table(models: Sequence[Model], statistics_of: StatisticsOf) -> str:
    """Lay out statistics, a column for each model."""
    columns = {}
    for model in models:
        rows = _rows(model, statistics_of)
        columns[model.title] = {name: cell(list(row.values()), runs=len(model.runs)) for name, row in rows.items()}
    return table(columns)


def _rows(model: Model, statistics_of: StatisticsOf) -> Rows:
    """Gather the statistics of a model's runs."""
    rows: Rows = {}
    for seed, folder in model.runs.items():
        for name, statistic in statistics_of(folder).items():
            rows.setdefault(name, {})[seed] = statistic
    return rows


def _folders(models: Sequence[Model]) -> list[Path]:
    return [folder for model in models for folder in model.runs.values()]


def _signatures(folders: Sequence[Path]) -> dict[str, list[str]]:
    """Return name of a score -> signatures: one, unless runs were scored in different ways."""
    signatures: dict[str, list[str]] = {}
    for folder in folders:
        for report in reports(folder).values():
            for score in report["scores"]:
                known = signatures.setdefault(score["name"], [])
                if score["signature"] not in known:
                    known.append(score["signature"])
    return signatures


def _notes(folders: Sequence[Path]) -> list[str]:
    """Return what was wrong with hypotheses and scored nevertheless, a line each."""
    return [
        f"note on {name} of {folder.name}: {note}"
        for folder in folders
        for name, report in reports(folder).items()
        for note in report.get("notes", [])
        if note.startswith(("--allow", ORDER_NOTE))
    ]


def _values(rows: Rows) -> dict[str, dict[int, float | None]]:
    """Return plain numbers; what is none, such as the time of an unfinished run, is null in JSON."""
    return {
        name: {seed: value if math.isfinite(value := each.values[0]) else None for seed, each in row.items()}
        for name, row in rows.items()
    }
