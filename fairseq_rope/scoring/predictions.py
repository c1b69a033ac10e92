"""What a model predicts of examples, a class or a number each, and its file: tab-separated text with a header."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairseq_rope.scoring.text import read_lines
from fairseq_rope_data.errors import UserError
from fairseq_rope_data.files import complete_file

HEADER = ("id", "label", "prediction", "probability")


@dataclass(frozen=True)
class Predictions:
    """Predictions in the order of the examples.

    Args:
        classes: the names of the classes; none where numbers are predicted.
        labels: what is true, as text; empty where it is not known.
        predictions: as text: a name of `classes`, or a number.
        probabilities: of the predicted classes; empty where they are not known.
    """

    classes: tuple[str, ...]
    labels: list[str]
    predictions: list[str]
    probabilities: Sequence[float] = ()

    def arrays(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return labels and predictions, (N,) each: numbers of classes, or the numbers that they are."""
        if not self.classes:
            return np.array(self.labels, dtype=np.float64), np.array(self.predictions, dtype=np.float64)
        number = {name: index for index, name in enumerate(self.classes)}
        columns = ([number[text] for text in column] for column in (self.labels, self.predictions))
        return np.array(next(columns)), np.array(next(columns))


def write_predictions(found: Predictions, path: Path) -> None:
    """Write predictions, a line each: number from 0, label, prediction, probability; what is not known is empty."""
    lines = ["\t".join(HEADER)]
    for index, prediction in enumerate(found.predictions):
        label = found.labels[index] if found.labels else ""
        probability = f"{found.probabilities[index]:.6f}" if len(found.probabilities) else ""
        lines.append(f"{index}\t{label}\t{prediction}\t{probability}")
    with complete_file(path) as part:
        part.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def read_predictions(path: Path, classes: Sequence[str]) -> Predictions:
    """Return the labels and predictions of a file that `write_predictions` wrote of labeled examples.

    Args:
        path: the file.
        classes: the names of the classes; none for numbers.

    Raises:
        UserError: it is no such file.
    """
    lines = read_lines(path)
    if tuple(lines[0].split("\t")) != HEADER or len(lines) < 2:
        raise UserError(f"{path}:1: not what tools.classify --output writes")
    found = Predictions(tuple(classes), [], [])
    fits = classes.__contains__ if classes else is_number
    for number, line in enumerate(lines[1:], 2):
        cells = line.split("\t")
        if len(cells) != len(HEADER) or cells[0] != str(number - 2) or not all(map(fits, cells[1:3])):
            raise UserError(f"{path}:{number}: not what tools.classify --output writes: {line[:60]!r}")
        found.labels.append(cells[1])
        found.predictions.append(cells[2])
    return found


def is_number(text: str) -> bool:
    """Return whether a text is a finite number."""
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False
