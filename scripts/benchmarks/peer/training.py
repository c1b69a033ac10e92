"""The text of a work folder as eole reads it, and eole's training on it, which goes on where it was stopped."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

from benchmarks.peer import settings
from benchmarks.peer.batches import eole_size, fairseq_batches, read_pairs
from benchmarks.peer.settings import LANGUAGES
from benchmarks.peer.toolkit import Eole
from fairseq_rope.experiments.train_log import read_train_log
from fairseq_rope_data.errors import UserError
from fairseq_rope_data.files import complete_file, complete_folder, read_lines

END = "</s>"
SETS = ("train", "valid", "test")


def check_prepared(work: Path) -> None:
    """Check that a work folder of run_multi30k.sh is prepared, with one dictionary for both languages.

    Raises:
        UserError: something is missing, or there are two dictionaries.
    """
    for name in (f"{name}.{lang}" for name in SETS for lang in LANGUAGES):
        if not (work / "text" / name).is_file():
            raise UserError(f"{work} is not prepared: there is no text/{name}; see scripts/run_multi30k.sh")
    texts = []
    for lang in LANGUAGES:
        path = work / "data-bin" / f"dict.{lang}.txt"
        if not path.is_file():
            raise UserError(f"{work} is not prepared: there is no data-bin/{path.name}; see scripts/run_multi30k.sh")
        texts.append(path.read_bytes())
    if texts[0] != texts[1]:
        raise UserError(f"{work}/data-bin must have one dictionary, but {LANGUAGES[0]} and {LANGUAGES[1]} differ")


def convert(work: Path, folder: Path) -> None:
    """Write the text, sources with </s>, and fairseq's dictionary, padding included, into `folder`; the latter last."""
    vocabulary = folder / "vocab.txt"
    if vocabulary.is_file():
        return
    for name in SETS:
        for lang in LANGUAGES:
            end = f" {END}" if lang == LANGUAGES[0] else ""
            with complete_file(folder / f"{name}.{lang}") as part:
                part.write_text("".join(f"{line}{end}\n" for line in read_lines(work / "text" / f"{name}.{lang}")))
    with complete_file(vocabulary) as part:
        words = (line.rpartition(" ")[0] for line in read_lines(work / "data-bin" / f"dict.{LANGUAGES[0]}.txt"))
        part.write_text("".join(f"{word}\n" for word in words))


def plan(work: Path, folder: Path, model: str | None, *, updates: int | None) -> settings.Plan:
    """Return the plan of a training as long as our model's, with as many updates an epoch as fairseq's.

    Args:
        work: the work folder, prepared.
        folder: of eole's files.
        model: ours, a folder with a train.log; None: there is none.
        updates: another length.

    Raises:
        UserError: no length is given and our model has none.
    """
    if updates is None and model is None:
        raise UserError("without --models, --updates must be given")
    updates = updates or read_train_log(work / str(model) / "train.log").validations[-1].updates
    pairs = read_pairs(*(work / "text" / f"train.{lang}" for lang in LANGUAGES))
    epoch = fairseq_batches(pairs, settings.MAX_TOKENS)
    return settings.Plan(folder, len(pairs), eole_size(pairs, epoch), updates, min(epoch, updates), max(1, epoch // 4))


def keep_plan(eole: Eole, todo: settings.Plan) -> None:
    """Write down what `todo.folder` is made with, or compare it with what it was made with before.

    Raises:
        UserError: it was made with something else.
    """
    path = todo.folder / "plan.json"
    kept = {**eole.versions, **settings.training_settings(replace(todo, folder=Path()))}
    text = json.dumps(kept, indent=1, sort_keys=True) + "\n"
    if path.is_file() and path.read_text(encoding="utf-8") != text:
        raise UserError(f"{todo.folder} was made with other settings or another eole ({path.name}); remove the folder")
    with complete_file(path) as part:
        part.write_text(text, encoding="utf-8")


def train(eole: Eole, todo: settings.Plan) -> None:
    """Train, or go on from the last complete checkpoint."""
    model = todo.folder / "model"
    steps = complete_steps(model)
    if todo.updates not in steps:
        if steps:
            # the order of batches begins anew: with the same seed it would be that of the first epochs
            todo = replace(todo, resume=model / f"step_{steps[-1]}", seed=todo.seed + steps[-1])
        eole.run("train", settings.training_settings(todo), todo.folder / "train.json", log=todo.folder / "eole.log")


def complete_steps(model: Path) -> list[int]:
    """Return the updates of complete checkpoints, in order; remove others, which a killed training leaves.

    eole writes config.json last, and not under another name.
    """
    steps = []
    for folder in model.glob("step_*"):
        try:
            json.loads((folder / "config.json").read_text(encoding="utf-8"))
            steps.append(int(folder.name.removeprefix("step_")))
        except (OSError, ValueError):
            shutil.rmtree(folder)
    return sorted(steps)


def average(eole: Eole, todo: settings.Plan) -> Path:
    """Return the folder of the mean of the last ten checkpoints, made if it is not there."""
    averaged = todo.folder / "averaged"
    if not averaged.is_dir():
        steps = complete_steps(todo.folder / "model")[-settings.AVERAGED :]
        with complete_folder(averaged) as part:
            part.rmdir()
            eole.checkpoint("average", part, *(todo.folder / "model" / f"step_{step}" for step in steps))
    return averaged
