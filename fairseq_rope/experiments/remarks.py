"""What is to be known of the numbers in a work folder: signatures, and notes on scores and trainings."""

from collections.abc import Sequence
from pathlib import Path

from fairseq_rope.experiments.train_log import read_train_log
from fairseq_rope.experiments.work_folder import TRAINED, Model, is_trained, reports
from fairseq_rope.scoring.checks import ORDER_NOTE
from fairseq_rope.scoring.prediction_report import CONSTANT_NOTES, CUT_NOTE


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


def run_notes(folders: Sequence[Path]) -> list[str]:
    """Return notes: trainings that have not ended, what was wrong and scored nevertheless, and those on predictions."""
    logs = {folder: read_train_log(folder / TRAINED) for folder in folders if is_trained(folder)}
    unfinished = [
        f"note on {folder.name}: its training has not ended: {log.updates:,} updates so far"
        for folder, log in logs.items()
        if not log.is_finished
    ]
    scored = [
        f"note on {name} of {folder.name}: {note}"
        for folder in folders
        for name, report in reports(folder).items()
        for note in report.get("notes", [])
        if note.startswith(("--allow", ORDER_NOTE))
    ]
    return unfinished + scored + _prediction_notes(folders)


def _prediction_notes(folders: Sequence[Path]) -> list[str]:
    """Return a line for each set and the trained models of which a note tells how little its scores may say."""
    runs: dict[tuple[str, str], list[str]] = {}
    for folder in filter(is_trained, folders):
        for name, report in reports(folder).items():
            for note in report.get("notes", []):
                if note.startswith(CONSTANT_NOTES) or CUT_NOTE in note:
                    runs.setdefault((name, note), []).append(folder.name)
    return [f"note on {name} of {', '.join(names)}: {note}" for (name, note), names in runs.items()]
