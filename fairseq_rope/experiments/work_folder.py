"""What a recipe's work folder holds: its models, each of one or more seeds, and the figures of each run.

WORK/rope, WORK/sinusoidal       runs: folders with a train.log; the seed is 1
WORK/rope-seed2                  the same model with another seed
WORK/NAME/score-SET.json         what tools.score --json says of a test set
WORK/NAME/hyp-SET.LANG           what tools.score --save-hyps wrote
WORK/raw/SET.LANG                raw references
"""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fairseq_rope.experiments.statistic import Figure
from fairseq_rope.experiments.train_log import read_train_log
from fairseq_rope.scoring.report_file import read_report
from fairseq_rope_data.errors import UserError

_NAME = re.compile(r"(?s:(.+?))(?:-seed([0-9]+))?")


@dataclass(frozen=True)
class Model:
    """A model and the folders of its runs, seed -> folder, in the order of the seeds."""

    name: str
    runs: dict[int, Path]

    @property
    def title(self) -> str:
        """The head of the model's column."""
        return self.name if len(self.runs) == 1 else f"{self.name} ({len(self.runs)} seeds)"


def model_folders(work: Path) -> list[Path]:
    """Give the folders of an experiment's runs, rotary first.

    Raises:
        UserError: there is none.
    """
    folders = sorted(
        (log.parent for log in work.glob("*/train.log")),
        key=lambda path: (name_and_seed(path)[0] != "rope", name_and_seed(path)),
    )
    if not folders:
        raise UserError(f"{work} holds no model: a model is a folder with a train.log")
    return folders


def name_and_seed(folder: Path) -> tuple[str, int]:
    """Give the model and the seed of a run: rope-seed2 is the model rope, seed 2; without a number the seed is 1."""
    match = _NAME.fullmatch(folder.name)
    return (match[1], int(match[2] or 1)) if match else (folder.name, 1)


def models(work: Path) -> list[Model]:
    """Give an experiment's models, rotary first.

    Raises:
        UserError: there is none, or two folders are the same model and seed.
    """
    found: dict[str, dict[int, Path]] = {}
    for folder in model_folders(work):
        name, seed = name_and_seed(folder)
        runs = found.setdefault(name, {})
        if seed in runs:
            raise UserError(f"{folder} and {runs[seed]} are the same model and seed")
        runs[seed] = folder
    return [Model(name, runs) for name, runs in found.items()]


def figures(folder: Path) -> dict[str, Figure]:
    """Give what is known of a run, name -> figure, in the table's order."""
    log = read_train_log(folder / "train.log")
    last, best = log.validations[-1], log.best
    rows = {
        "parameters": Figure((log.parameters,), specs=(",.0f",)),
        "epochs, updates": Figure((last.epoch, last.updates), "{}, {}", (",.0f", ",.0f")),
        "training, minutes": Figure((log.seconds / 60,), specs=(".1f",)),
        "valid loss, best": Figure((best.loss, best.epoch), "{} (epoch {})", (".3f", ".0f")),
    }
    for name, report in reports(folder).items():
        for score in report["scores"]:
            rows[f"{name}: {score['name']}"] = Figure((score["value"],))
    return rows


def bucket_figures(folder: Path) -> dict[str, Figure]:
    """Give a run's BLEU by the length of the source, name -> figure."""
    return {
        f"{name}: {bucket['words']} words, {bucket['sentences']} sentences": Figure((bucket["score"]["value"],))
        for name, report in reports(folder).items()
        for bucket in report.get("buckets", [])
    }


def reports(folder: Path) -> dict[str, dict[str, Any]]:
    """Give what tools.score said of each test set of a run, test before long.

    Raises:
        UserError: a file is no such report.
    """
    paths = sorted(folder.glob("score-*.json"), reverse=True)
    return {path.stem.removeprefix("score-"): read_report(path) for path in paths}
