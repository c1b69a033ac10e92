"""What a fairseq-train log (`--log-file`) says of a run: one entry an epoch, and the model's size."""

import re
from dataclasses import dataclass
from pathlib import Path

from fairseq_rope.tools._common import ToolError

_VALID = re.compile(r"epoch (\d+) \| valid on .*?\| loss (\S+) .*\| num_updates (\d+)")
_TRAIN = re.compile(r"epoch (\d+) \| loss .*\| wall (\S+)")
_PARAMETERS = re.compile(r"num\. shared model params: ([\d,]+)")


@dataclass
class Epoch:
    """One epoch: validation loss (label-smoothed, base 2), updates and seconds since the start of the training."""

    number: int
    valid_loss: float
    updates: int
    wall: float = float("nan")


@dataclass
class TrainLog:
    """A run: its epochs in order, and its number of parameters."""

    epochs: list[Epoch]
    parameters: int


def read_train_log(path: Path) -> TrainLog:
    """Read a log; an epoch that was repeated after a resume counts as it last was.

    Raises:
        ToolError: the file is missing, or no epoch is complete in it.
    """
    if not path.is_file():
        raise ToolError(f"there is no training log {path}")
    epochs: dict[int, Epoch] = {}
    parameters = 0
    for line in path.read_text(encoding="utf-8").splitlines():
        if match := _VALID.search(line):
            epochs[int(match[1])] = Epoch(int(match[1]), float(match[2]), int(match[3]))
        elif (match := _TRAIN.search(line)) and int(match[1]) in epochs:
            epochs[int(match[1])].wall = float(match[2])
        elif match := _PARAMETERS.search(line):
            parameters = int(match[1].replace(",", ""))
    if not epochs:
        raise ToolError(f"{path}: no epoch is complete in this log")
    return TrainLog([epochs[number] for number in sorted(epochs)], parameters)
