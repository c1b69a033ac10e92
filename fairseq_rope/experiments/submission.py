"""Predictions as GLUE's server wants them: a file for each test set, with its name, labels and columns."""

from collections.abc import Sequence
from pathlib import Path

from fairseq_rope.scoring.predictions import Predictions
from fairseq_rope_data.errors import UserError
from fairseq_rope_data.files import complete_file
from fairseq_rope_data.glue_tasks import TASKS


def check_labels(name: str, classes: Sequence[str]) -> None:
    """Check that classes are the labels of a task, in any order.

    Raises:
        UserError: they are others.
    """
    if sorted(classes) != sorted(TASKS[name].labels):
        raise UserError(
            f"--glue {name} has the labels {', '.join(TASKS[name].labels) or 'that are numbers'}, but the model has "
            f"{', '.join(classes) or 'numbers'}"
        )


def check_submission(name: str, subset: str, classes: Sequence[str]) -> None:
    """Check that predictions of these classes for this subset can be submitted to a task.

    Raises:
        UserError: they are not for a test set, or the classes are not the task's.
    """
    _file_name(name, subset)
    check_labels(name, classes)


def write_submission(found: Predictions, name: str, subset: str, folder: Path) -> Path:
    """Write the file of a task; numbers are on GLUE's scale, as predicted.

    Raises:
        UserError: see `check_submission`.
    """
    check_submission(name, subset, found.classes)
    task = TASKS[name]
    lines = ["index\tprediction"]
    for index, prediction in enumerate(found.predictions):
        text = prediction if task.labels else f"{float(prediction) * task.scale:.3f}"
        lines.append(f"{index}\t{text}")
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / _file_name(name, subset)
    with complete_file(path) as part:
        part.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def _file_name(name: str, subset: str) -> str:
    task = TASKS[name]
    files = dict(zip((each for each in task.sizes if each.startswith("test")), task.submission, strict=True))
    if subset not in files:
        raise UserError(f"--submission to {name} is of the subset {' or '.join(files)}, but --subset is {subset}")
    return files[subset]
