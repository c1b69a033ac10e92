"""Stages of a pre-training as the columns of RoFormer's table 4, and what each model reads at other lengths."""

import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fairseq_rope.experiments.markdown import table, transposed
from fairseq_rope.experiments.origins import origin_notes
from fairseq_rope.experiments.remarks import run_folders, run_notes, score_signatures
from fairseq_rope.experiments.statistic import Statistic, cell
from fairseq_rope.experiments.train_log import read_train_log
from fairseq_rope.experiments.work_folder import TRAINED, find_models, reports, validated_models
from fairseq_rope_data.errors import UserError

COLUMNS = ("length", "batch", "steps", "loss", "accuracy")
# the blocks of an update, over all GPUs and parts, as fairseq logs their mean
_BATCH = re.compile(r"epoch [0-9]+ \| loss .*\| bsz ([0-9.]{1,12}) \|")


def stages_text(work: Path, names: Sequence[str] = ()) -> str:
    """Return both tables as text, with notes; loss is in nats a masked token, as in the paper, accuracy in percent.

    Args:
        work: a work folder with reports of `tools.masked`.
        names: see `find_models`.

    Raises:
        UserError: see `find_models`, `read_train_log` and `read_report`; or there is no report on masked tokens.
    """
    models, left_out = validated_models(find_models(work, names))
    folders = run_folders(models)
    found = (report for folder in folders for report in _masked_reports(folder) if report["scores"])
    texts = [*dict.fromkeys(str(report.get("subset", "")) for report in found)]
    if not texts:
        raise UserError(f"--stages: no model in {work} has scores of masked tokens, which tools.masked writes")
    stages: dict[str, dict[str, str]] = {}
    lengths: dict[str, dict[str, str]] = {}
    for model in models:
        runs = [*model.runs.values()]
        stages[model.title] = _cells([_stage(folder, texts[0]) for folder in runs])
        lengths[model.title] = _cells([_read(folder, texts[0]) for folder in runs])
    named = dict.fromkeys(name for cells in lengths.values() for name in cells)
    columns = sorted(named, key=lambda name: int(name.split()[-1]))
    notes = [f"{name}: {each}" for name, signatures in score_signatures(folders).items() for each in signatures]
    if len(texts) > 1:
        left_out.append(f"note: all is of {texts[0]}; there are scores of {', '.join(texts[1:])} too")
    return "\n".join(
        [
            f"{table(transposed(stages, COLUMNS))}\n",
            "Loss and accuracy in blocks of other lengths, as they are read without more training:\n",
            table(transposed(lengths, columns)),
            *notes,
            *left_out,
            *origin_notes(models),
            *run_notes(folders),
        ]
    )


def _cells(each_run: Sequence[dict[str, Statistic]]) -> dict[str, str]:
    names = dict.fromkeys(name for run in each_run for name in run)
    return {name: cell([run[name] for run in each_run if name in run], runs=len(each_run)) for name in names}


def _stage(folder: Path, text: str) -> dict[str, Statistic]:
    """Return what a run has of COLUMNS: loss and accuracy at the length of its training."""
    log = read_train_log(folder / TRAINED)
    found = {"steps": Statistic((log.updates,), specs=(",.0f",), log=log)}
    if batches := _BATCH.findall((folder / TRAINED).read_text(encoding="utf-8", errors="replace")):
        found["batch"] = Statistic((float(batches[-1]),), specs=(",.0f",))
    for report in _masked_reports(folder, text):
        found["length"] = Statistic((report["trained_length"],), specs=(",.0f",))
        if report["length"] == report["trained_length"]:
            found |= _scores(report)
    return found


def _read(folder: Path, text: str) -> dict[str, Statistic]:
    """Return loss and accuracy of each length that a run could read."""
    return {
        f"{name} at {report['length']}": statistic
        for report in _masked_reports(folder, text)
        for name, statistic in _scores(report).items()
    }


def _masked_reports(folder: Path, text: str = "") -> list[dict[str, Any]]:
    """Return the reports of a run on masked tokens, of all texts or of one."""
    found = [report for report in reports(folder).values() if "trained_length" in report]
    return [report for report in found if text in ("", report.get("subset", ""))]


def _scores(report: dict[str, Any]) -> dict[str, Statistic]:
    units = {"bits": ("loss", math.log(2)), "accuracy": ("accuracy", 1)}
    return {
        units[score["name"]][0]: Statistic((score["value"] * units[score["name"]][1],), signature=score["signature"])
        for score in report["scores"]
    }
