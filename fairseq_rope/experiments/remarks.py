"""What is to be known of the scores in a work folder: their signatures, and what was wrong and scored nevertheless."""

from collections.abc import Sequence
from pathlib import Path

from fairseq_rope.experiments.work_folder import Model, reports
from fairseq_rope.scoring.checks import ORDER_NOTE


def run_folders(models: Sequence[Model]) -> list[Path]:
    """Return the folders of all runs of these models."""
    return [folder for model in models for folder in model.runs.values()]


def score_signatures(folders: Sequence[Path]) -> dict[str, list[str]]:
    """Return name of a score -> signatures: one, unless runs were scored in different ways."""
    signatures: dict[str, list[str]] = {}
    for folder in folders:
        for report in reports(folder).values():
            for score in report["scores"]:
                known = signatures.setdefault(score["name"], [])
                if score["signature"] not in known:
                    known.append(score["signature"])
    return signatures


def score_notes(folders: Sequence[Path]) -> list[str]:
    """Return what was wrong with hypotheses and scored nevertheless, a line each."""
    return [
        f"note on {name} of {folder.name}: {note}"
        for folder in folders
        for name, report in reports(folder).items()
        for note in report.get("notes", [])
        if note.startswith(("--allow", ORDER_NOTE))
    ]
