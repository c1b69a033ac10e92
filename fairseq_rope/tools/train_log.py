"""What a fairseq-train log (`--log-file`) says of a run: one entry a validation, and the model's size."""

import re
from dataclasses import dataclass
from pathlib import Path

from fairseq_rope.tools._common import ToolError

_VALID = re.compile(r"epoch (\d+) \| valid on .*?\| loss (\S+) .*\| num_updates (\d+)")
_TRAIN = re.compile(r"epoch \d+ \| loss .*\| wall (\S+)")
_PARAMETERS = re.compile(r"num\. shared model params: ([\d,]+)")


@dataclass(frozen=True)
class Validation:
    """The validation loss (label-smoothed, bits a token) after so many epochs, the last perhaps begun, and updates."""

    epoch: int
    updates: int
    loss: float


@dataclass(frozen=True)
class TrainLog:
    """A run: its validations in order, its number of parameters, and its seconds, those before a resume included."""

    validations: list[Validation]
    parameters: int
    seconds: float


def read_train_log(path: Path) -> TrainLog:
    """Read a log; what was repeated after a resume counts as it last was.

    Raises:
        ToolError: the file is missing, or no validation is in it.
    """
    if not path.is_file():
        raise ToolError(f"there is no training log {path}")
    validations: dict[int, Validation] = {}
    parameters, seconds = 0, float("nan")
    for line in path.read_text(encoding="utf-8").splitlines():
        if match := _VALID.search(line):
            epoch, loss, updates = int(match[1]), float(match[2]), int(match[3])
            validations[updates] = Validation(epoch, updates, loss)
        elif match := _TRAIN.search(line):
            seconds = float(match[1])
        elif match := _PARAMETERS.search(line):
            parameters = int(match[1].replace(",", ""))
    if not validations:
        raise ToolError(f"{path}: no validation is in this log")
    return TrainLog([validations[updates] for updates in sorted(validations)], parameters, seconds)
