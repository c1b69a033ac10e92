"""The table of scripts/convert_to_rope.sh: a converted model beside its original, by updates after the switch.

WORK/original, converted-0      the original, and it as a rotary model that has not been trained on
WORK/converted-N, continued-N   checkpoints of the two trainings after N updates
WORK/converted, continued       the trainings, and their averages
"""

import re
from pathlib import Path

from fairseq_rope.experiments.markdown import table
from fairseq_rope.experiments.origins import origin_notes
from fairseq_rope.experiments.statistic import cell
from fairseq_rope.experiments.train_log import read_train_log
from fairseq_rope.experiments.work_folder import TRAINED, Model, bucket_statistics, reports, window_statistics
from fairseq_rope_data.errors import UserError

_START = {"converted": "converted-0", "continued": "original"}
_POINT = re.compile(r"(?:converted|continued)-([1-9][0-9]{0,14})")
# as fairseq-validate prints it
_LOSS = re.compile(r" \| valid on 'valid' subset \| loss ([0-9.]{1,20}) ")


def is_conversion(work: Path) -> bool:
    """Return whether a work folder is one of scripts/convert_to_rope.sh."""
    return all((work / name).is_dir() for name in _START.values())


def conversion_text(work: Path) -> str:
    """Return losses and BLEU by updates after the switch, BLEU by the length of the source, and minutes of training.

    Raises:
        UserError: a log or a report is damaged.
    """
    models = _models(work)
    last = {"original": work / "original", **{f"{name}, average": work / name for name in models}}
    buckets = {
        name: {row: cell([x], runs=1) for row, x in bucket_statistics(path).items()} for name, path in last.items()
    }
    minutes = (f"{name} {read_train_log(work / name / 'train.log').seconds / 60:.1f}" for name in models)
    updates = table(conversion_columns(work))
    parts = [f"By updates after the switch:\n\n{updates}", f"Minutes of training: {', '.join(minutes)}"]
    parts += origin_notes([Model(name, {1: work / name}) for name in models])
    if any(buckets.values()):
        parts.append(f"BLEU by words of the source:\n\n{table(buckets)}")
    return "\n\n".join(parts)


def conversion_columns(work: Path) -> dict[str, dict[str, str]]:
    """Return updates after the switch -> loss and BLEU of both models, as text; for errors see `conversion_text`."""
    models = _models(work)
    found = (_POINT.fullmatch(folder.name) for folder in work.iterdir() if folder.is_dir())
    points = sorted({int(match[1]) for match in found if match})
    columns = {"0": {name: work / _START[name] for name in models}}
    columns |= {f"{point:,}": {name: work / f"{name}-{point}" for name in models} for point in points}
    columns["average"] = {name: work / name for name in models}
    losses = {name: _logged_losses(work / name) for name in models}
    cells: dict[str, dict[str, str]] = {}
    for point, folders in columns.items():
        shown = {name: {**losses[name].get(point, {}), **_shown(folder)} for name, folder in folders.items()}
        rows = list(dict.fromkeys(row for statistics in shown.values() for row in statistics))
        cells[point] = {f"{row}, {name}": shown[name][row] for row in rows for name in models if row in shown[name]}
    return cells


def _models(work: Path) -> list[str]:
    return [name for name in _START if (work / name / TRAINED).is_file()]


def _logged_losses(folder: Path) -> dict[str, dict[str, str]]:
    """Return the validation losses of a training, by the column that they belong to."""
    log = read_train_log(folder / TRAINED)
    return {f"{one.updates:,}": {"valid loss": f"{one.loss:.3f}"} for one in log.validations}


def _shown(folder: Path) -> dict[str, str]:
    """Return what is shown of a checkpoint: its loss where it was validated by itself, BLEU, and of windows more."""
    path = folder / "validate.log"
    rows = {}
    if path.is_file():
        match = _LOSS.search(path.read_text(encoding="utf-8", errors="replace"))
        if match is None:
            raise UserError(f"{path}: no loss is in this log of fairseq-validate: remove it")
        rows["valid loss"] = f"{float(match[1]):.3f}"
    for name, report in reports(folder).items():
        scores = (score for score in report["scores"] if score["name"].startswith("BLEU"))
        rows |= {f"{name}: {score['name']}": f"{score['value']:.2f}" for score in scores}
        rows |= {row: cell([x], runs=1) for row, x in window_statistics(name, report).items()}
    return rows
