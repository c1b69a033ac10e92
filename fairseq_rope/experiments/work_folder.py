"""What a recipe's work folder holds: its models, each of one or more seeds, and the statistics of each run.

WORK/rope, WORK/sinusoidal       runs: folders with a train.log; the seed is 1
WORK/rope-seed2                  the same model with another seed
WORK/NAME/baseline.txt           in the place of train.log: nothing was trained, and this says in a line what it is
WORK/NAME/pretrained             of a fine-tuned model, which pre-trained one it began with
WORK/NAME/score-SET.json         the report of tools.score or tools.classify --json on a test set, or of tools.masked
                                 --json on blocks
WORK/NAME/predictions-SET.tsv    what tools.classify --output wrote
WORK/NAME/hyp-SET.LANG           what tools.score --save-hyps wrote
WORK/raw/SET.LANG                raw references
"""

import math
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fairseq_rope.experiments.statistic import Rows, Statistic
from fairseq_rope.experiments.train_log import NoValidationError, read_train_log
from fairseq_rope.scoring.report_file import read_report
from fairseq_rope_data.errors import UserError

StatisticsOf = Callable[[Path], dict[str, Statistic]]

TRAINED, UNTRAINED, PRETRAINED = "train.log", "baseline.txt", "pretrained"
# no score of a test set: of the validation set, searched greedily, in the tokens of the training
VALID_BLEU = "valid BLEU (greedy), best"
_NAME = re.compile(r"(?s:(.+?))(?:-seed([0-9]+))?")


@dataclass(frozen=True)
class Model:
    """A model and the folders of its runs, seed -> folder, in the order of the seeds."""

    name: str
    runs: dict[int, Path]

    @property
    def work(self) -> Path:
        """The work folder of its first run."""
        return next(iter(self.runs.values())).parent

    @property
    def title(self) -> str:
        """The head of the model's column."""
        return self.name if len(self.runs) == 1 else f"{self.name} ({len(self.runs)} seeds)"


def find_models(work: Path | Sequence[Path], names: Sequence[str] = (), *, so_far: bool = False) -> list[Model]:
    """Return an experiment's models.

    Args:
        work: a recipe's work folder, or several whose runs are compared.
        names: the models wanted, in this order; all of them, in the order of their names, where none is given.
        so_far: leave out those of `names` that have not begun.

    Raises:
        UserError: there is none, or none of a name; a name is given twice; two folders are the same model and seed; a
            run of one cannot be read.
    """
    models: dict[str, dict[int, Path]] = {}
    works = [work] if isinstance(work, Path) else work
    folders = [folder for each in works for folder in each.glob("[!.]*")]
    for name, seed, folder in sorted((*name_and_seed(folder), folder) for folder in folders if _is_run(folder)):
        runs = models.setdefault(name, {})
        if seed in runs:
            raise UserError(f"{folder} and {runs[seed]} are the same model and seed")
        runs[seed] = folder
    named = " and ".join(map(str, works))
    if not models:
        raise UserError(f"{named} holds no model: a model is a folder with a {TRAINED}")
    for name in names:
        if name not in models and not so_far:
            raise UserError(f"--models {name}: {named} holds no such model, only {', '.join(models)}")
        if names.count(name) > 1:
            raise UserError(f"--models has {name} twice")
    for folder in folders:
        # or a mean would be of fewer seeds without a word
        if name_and_seed(folder)[0] in (names or models) and not os.access(folder, os.R_OK | os.X_OK):
            raise UserError(f"{folder} must be the folder of a run, but is none that can be read")
    found = [Model(name, models[name]) for name in names or models if name in models]
    if not found:
        raise UserError(f"--models {' '.join(names)}: {named} holds none of them yet, only {', '.join(models)}")
    return found


def _is_run(folder: Path) -> bool:
    # a link to nothing, too, which is an error once it is read
    return any(os.path.lexists(folder / name) for name in (TRAINED, UNTRAINED))


def validated_models(models: Sequence[Model]) -> tuple[list[Model], list[str]]:
    """Return the models of runs that have been validated, and a line for each run that has not been.

    Raises:
        UserError: none has been, or a log is damaged.
    """
    found: dict[str, dict[int, Path]] = {}
    notes, errors = [], []
    for model in models:
        for seed, folder in model.runs.items():
            try:
                _ = is_trained(folder) and read_train_log(folder / TRAINED)
            except NoValidationError as error:
                notes.append(f"note on {folder.name}: left out, no validation is in its log")
                errors.append(error)
            else:
                found.setdefault(model.name, {})[seed] = folder
    if not found:
        raise errors[0]
    return [Model(name, runs) for name, runs in found.items()], notes


def is_trained(folder: Path) -> bool:
    """Return whether a run was trained; one that was not has scores alone."""
    return not (folder / UNTRAINED).is_file()


def pretraining(folder: Path) -> str:
    """Return what a run began with, the same text for runs with the same pre-trained model; empty where untrained."""
    if not is_trained(folder):
        return ""
    file = folder / PRETRAINED
    return file.read_text(encoding="utf-8", errors="replace") if file.is_file() else str(name_and_seed(folder)[1])


def name_and_seed(folder: Path) -> tuple[str, int]:
    """Return the model and the seed of a run: rope-seed2 is the model rope, seed 2; without a number the seed is 1."""
    match = _NAME.fullmatch(folder.name)
    return (match[1], int(match[2] or 1)) if match else (folder.name, 1)


def model_rows(model: Model, statistics_of: StatisticsOf) -> Rows:
    """Return the statistics of a model's runs, by name and seed."""
    rows: Rows = {}
    for seed, folder in model.runs.items():
        for name, statistic in statistics_of(folder).items():
            rows.setdefault(name, {})[seed] = statistic
    return rows


def run_statistics(folder: Path) -> dict[str, Statistic]:
    """Return the statistics of a run by name, in the table's order."""
    rows = _training_statistics(folder) if is_trained(folder) else {}
    for name, report in reports(folder).items():
        for score in report["scores"]:
            rows[f"{name}: {score['name']}"] = Statistic(
                (score["value"],),
                specs=(f".{score.get('decimals', 2)}f",),
                compared="difference",
                lower_is_better=bool(score.get("lower_is_better", False)),
                signature=str(score.get("signature", "")),
            )
        rows |= window_statistics(name, report)
    return rows


def window_statistics(name: str, report: dict[str, Any]) -> dict[str, Statistic]:
    """Return what the report of a test set has of windows of several sentences: none where each line is a sentence."""
    if not (windows := report.get("windows")):
        return {}
    score = windows["sentences"]
    return {
        f"{name}: BLEU by sentence": Statistic((score["value"],), compared="difference", signature=score["signature"]),
        f"{name}: windows of another number": Statistic((windows["wrong"],), specs=(",.0f",)),
    }


def _training_statistics(folder: Path) -> dict[str, Statistic]:
    log = read_train_log(folder / TRAINED)
    last, best = log.validations[-1], log.best
    rows = {
        "parameters": Statistic((log.parameters,), specs=(",.0f",)),
        "epochs, updates": Statistic((last.epoch, last.updates), "{}, {}", (",.0f", ",.0f"), log=log),
        "training, minutes": Statistic((log.seconds / 60,), specs=(".1f",), log=log),
        "valid loss, best": Statistic(
            (best.loss, best.epoch), "{} (epoch {})", (".3f", ".0f"), "difference", True, log
        ),
    }
    if log.best_bleu is not None:
        validation, bleu = log.best_bleu
        rows[VALID_BLEU] = Statistic((bleu, validation.epoch), "{} (epoch {})", (".2f", ".0f"), "difference", log=log)
    if not math.isnan(log.words_per_second):
        rows["training, words/s"] = Statistic((log.words_per_second,), specs=(",.0f",), compared="ratio")
    return rows


def bucket_statistics(folder: Path) -> dict[str, Statistic]:
    """Return a run's BLEU by the length of the source, by name."""
    return {
        f"{name}: {bucket['words']} words, {bucket['sentences']} sentences": bucket_statistic(bucket)
        for name, report in reports(folder).items()
        for bucket in report.get("buckets", [])
    }


def bucket_statistic(bucket: Mapping[str, Any]) -> Statistic:
    """Return the BLEU of a bucket of a report."""
    return Statistic((bucket["score"]["value"],), signature=bucket["score"]["signature"])


def reports(folder: Path) -> dict[str, dict[str, Any]]:
    """Return the score report of each test set of a run: test before long, and of one in parts, valid-128 before -512.

    Raises:
        UserError: a file is no such report.
    """
    names = sorted((path.stem.removeprefix("score-") for path in folder.glob("score-*.json")), key=_size_of)
    names.sort(key=lambda name: name.rpartition("-")[0] if _size_of(name) else name, reverse=True)
    return {name: read_report(folder / f"score-{name}.json") for name in names}


def files_of_stem(folder: Path, stem: str) -> list[Path]:
    """Return the files STEM.LANG: not by a pattern, for the stem of test.2016.de is not that of test.de."""
    return [path for path in folder.glob("*.*") if path.stem == stem]


def _size_of(test_set: str) -> int:
    """Return the number at the end of a test set's name, as of test-w12 or valid-512; 0 without."""
    size = test_set.rpartition("-")[2].removeprefix("w")
    return int(size) if size.isdecimal() and "-" in test_set else 0
