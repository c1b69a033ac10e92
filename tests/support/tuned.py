"""Small fine-tuned models, one that chooses classes, one that says a number and one that ranks, with their data."""

import random
import shutil
from pathlib import Path
from typing import NamedTuple

from fairseq.options import get_preprocessing_parser
from fairseq_cli.preprocess import main as preprocess_main

from tests.support import ROOT
from tests.support.glue import SMALL, WORDS
from tests.support.trained import call

TRAINING = f"""
    --arch roformer_tiny {SMALL} --init-token 0 --max-positions 24 --shorten-method truncate --optimizer adam --lr 1e-2
    --lr-scheduler fixed --max-update 6 --batch-size 8 --cpu --disable-validation --no-epoch-checkpoints --num-workers 0
"""
PREDICTION = "--task sentence_prediction --criterion sentence_prediction"


class Tuned(NamedTuple):
    """Data of 20 examples with three columns of sentences, and a model of each kind."""

    data: Path
    lines: list[list[str]]
    classes: Path
    number: Path
    ranking: Path
    raw: Path


def preprocess(arguments: list[str]) -> None:
    """fairseq-preprocess in this process: a new Python takes time."""
    preprocess_main(get_preprocessing_parser().parse_args(["--only-source", *arguments]))


def tuned_models(folder: Path) -> Tuned:
    """Fine-tune a small model of each kind, from nothing, in a few updates."""
    raw, dice = folder / "raw", random.Random(4)
    raw.mkdir()
    # of all lengths, and some longer than a model reads
    lines = [[" ".join(dice.choices(WORDS, k=dice.randint(1, 16))) for _ in range(20)] for _ in range(3)]
    for number, column in enumerate(lines):
        for name in ("train", "valid"):
            (raw / f"{name}.input{number}").write_text("".join(f"{line}\n" for line in column))
    labels = [int("good" in line or "fine" in line) for line in lines[0]]
    (raw / "labels.txt").write_text("0 1\n1 1\n")
    data = {"classes": folder / "classes", "number": folder / "number"}
    dictionary: list[str] = []
    for number in range(3):
        files = [word for name in ("train", "valid") for word in (f"--{name}pref", str(raw / f"{name}.input{number}"))]
        files += [*dictionary, "--destdir", str(data["classes"] / f"input{number}")]
        preprocess(files)
        dictionary = ["--srcdict", str(data["classes"] / "input0" / "dict.txt")]
    for name in ("train", "valid"):
        (raw / f"{name}.label").write_text("".join(f"{label}\n" for label in labels))
    files = [word for name in ("train", "valid") for word in (f"--{name}pref", str(raw / f"{name}.label"))]
    srcdict = ["--srcdict", str(raw / "labels.txt"), "--destdir", str(data["classes"] / "label")]
    preprocess([*files, *srcdict])
    shutil.copytree(data["classes"], data["number"], ignore=shutil.ignore_patterns("label"))
    (data["number"] / "label").mkdir()
    for name in ("train", "valid"):
        text = "".join(f"{label}\n" for label in labels)
        (data["number"] / "label" / f"{name}.label").write_text(text)
        (data["classes"] / "label" / f"{name}.label").write_text(text)  # as sentence_ranking reads it
    kinds = {
        "classes": f"{PREDICTION} --num-classes 2",
        "number": f"{PREDICTION} --num-classes 1 --regression-target",
        "ranking": "--task sentence_ranking --criterion sentence_ranking --num-classes 2",
    }
    for kind, options in kinds.items():
        save = ["--user-dir", str(ROOT / "fairseq_rope"), "--save-dir", str(folder / f"model-{kind}")]
        call("fairseq_cli.train", str(data.get(kind, data["classes"])), *save, *TRAINING.split(), *options.split())
    models = [folder / f"model-{kind}" / "checkpoint_last.pt" for kind in kinds]
    return Tuned(data["classes"], lines, *models, raw)


def two_columns(tuned: Tuned, folder: Path) -> Path:
    """The data without the third column, and without labels that only a ranking reads."""
    return Path(shutil.copytree(tuned.data, folder / "two", ignore=shutil.ignore_patterns("input2", "*.label")))


def rows(path: Path) -> list[list[str]]:
    """The cells of a file of predictions, without its header."""
    return [line.split("\t") for line in path.read_text().splitlines()[1:]]
