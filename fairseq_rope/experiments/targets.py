"""The target of each example of fairseq's tasks of sentences: one label, which the model has."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from fairseq.data import Dictionary

from fairseq_rope_data.errors import UserError


def read_targets(
    dataset: Any, classes: Sequence[str], *, subset: str, dictionary: Dictionary | None = None
) -> list[float] | None:
    """Return the target of each example: the number of a class, or a number; None where there are none.

    Args:
        dataset: the examples, of sentence_prediction or sentence_ranking.
        classes: the names of the classes; none for numbers.
        subset: its name, for messages.
        dictionary: of the labels; none where their text has numbers.

    Raises:
        UserError: an example has no label or several, or one that the model has not.
    """
    targets = []
    for index in range(len(dataset)):
        where = f"--subset {subset}: the label of line {index + 1}"
        try:
            example = dataset[index]
        except IndexError:  # fairseq takes a file of labels without a line
            raise UserError(f"{where} is missing") from None
        if "target" not in example:
            return None
        values = np.ravel(example["target"]).tolist()
        if len(values) != 1:
            raise UserError(f"{where} must be one word or number, but there are {len(values)}")
        if classes and not 0 <= values[0] < len(classes):
            raise UserError(f"{where} must be {' or '.join(classes)}, but is {_word(values[0], dictionary)}")
        if not math.isfinite(values[0]):
            raise UserError(f"{where} must be a finite number, but is {values[0]}")
        targets += values
    return targets


def _word(target: int, dictionary: Dictionary | None) -> str:
    """Return the label as its text has it, but <unk> for a word that the dictionary lacks."""
    return str(target) if dictionary is None else str(dictionary[dictionary.nspecial + target])
