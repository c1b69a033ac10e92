"""What a fairseq-train log (`--log-file`) says of a run: one entry a validation, and the model's size."""

import itertools
import math
import re
import statistics
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from fairseq_rope.experiments.wall_clock import WallClock
from fairseq_rope_data.errors import UserError

# not what was cut, such as `num_updates 12` of 1200 with the next line behind it
_END = r"(?: \||$)"
_NUMBER = r"([0-9]{1,15})"
_VALID = re.compile(rf"epoch {_NUMBER} \| valid on (.*?)\| loss (\S+) .*\| num_updates {_NUMBER}{_END}")
_BLEU = re.compile(r" \| bleu (\S+) \|")
_BEST = " | best_"  # the best validation so far, which checkpoints hold: a process that goes on from one names it
_TRAIN = re.compile(rf"epoch [0-9]+ \| loss .*\| wall (\S+){_END}")
_UPDATES = re.compile(rf"\| num_updates {_NUMBER} \|")
_INNER = re.compile(rf"epoch [0-9]+: .*, num_updates={_NUMBER}, .*, wall=([0-9.]{{1,15}})$")
_PACE = re.compile(r", wps=([0-9.]{1,15}), .*, wpb=([0-9.]{1,15}),")
_SPEED = re.compile(rf"\| wpb (\S+) \|.* \| num_updates {_NUMBER} \|.* \| train_wall (\S+) \|")
_PARAMETERS = re.compile(r"num\. shared model params: ([0-9,]{1,20})\b")


class NoValidationError(UserError):
    """A log in which no validation is, or not yet."""


@dataclass(frozen=True)
class Validation:
    """A validation after so many epochs, the last perhaps begun, and updates.

    Args:
        epoch: from 1.
        updates: of the training until then.
        loss: as in training, bits a token.
        bleu: of the validation set, as the training searched and tokenized; None where it logs none.
    """

    epoch: int
    updates: int
    loss: float
    bleu: float | None = None


@dataclass(frozen=True)
class TrainLog:
    """A run: its validations in order, its number of parameters, its seconds and its speed.

    Args:
        validations: in the order of their updates.
        parameters: how many.
        seconds: of all, validations and what was before a resume included; not a number where the log has none.
        words_per_second: target tokens by the seconds of training steps, which fairseq rounds: the median of the epochs
            that one process began and ended, so that one in which the machine slept says nothing. Not a number where
            the log has none.
        clock: the time of each update.
        is_finished: whether the training came to its end.
    """

    validations: list[Validation]
    parameters: int
    seconds: float
    words_per_second: float = math.nan
    clock: WallClock = field(default_factory=WallClock)
    is_finished: bool = False

    @property
    def updates(self) -> int:
        """How many it has been validated after."""
        return self.validations[-1].updates

    def is_behind(self, other: "TrainLog") -> bool:
        """Return whether it has not ended and has fewer updates, so that its losses say nothing beside the other's."""
        return not self.is_finished and self.updates < other.updates

    @property
    def best(self) -> Validation:
        """The validation of the lowest loss; one whose loss is not a number only where all are."""
        return min(self.validations, key=lambda each: (math.isnan(each.loss), each.loss))

    @property
    def bleu(self) -> list[tuple[Validation, float]]:
        """The validations that have a BLEU, each with it."""
        return [(each, each.bleu) for each in self.validations if each.bleu is not None]

    @property
    def best_bleu(self) -> tuple[Validation, float] | None:
        """The validation of the highest BLEU, the first of equal ones; None where none has it."""
        return max(self.bleu, key=lambda each: each[1], default=None)


def read_train_log(path: Path) -> TrainLog:
    """Read a log; what was repeated after a resume counts as it last was, and a last line without its end does not.

    Nor does what a resume from an earlier checkpoint gave up, or a training that another one followed in the same log.

    Raises:
        NoValidationError: no validation is in it.
        UserError: the file is missing, or an entry is damaged.
    """
    if not path.is_file():
        raise UserError(f"there is no training log {path}")
    validations: list[Validation] = []
    parameters, is_finished, begins, subset = 0, False, False, ""
    speed, clock = _Speed(), WallClock()
    for number, line in enumerate(_whole_lines(path), start=1):
        if match := _VALID.search(line):
            subset = subset or match[2]
            if match[2] != subset:  # of several, fairseq chooses checkpoints by the first
                continue
            epoch, updates = int(match[1]), int(match[4])
            loss, bleu = _float(match[3], f"{path}:{number}: loss"), _BLEU.search(line)
            if begins and _BEST not in line:
                validations.clear()
                speed.begin_anew()
                clock.begin_anew()
            begins = False
            _drop(validations, beyond=updates - 1)
            validations.append(
                Validation(epoch, updates, loss, None if bleu is None else _float(bleu[1], f"{path}:{number}: bleu"))
            )
            clock.end_part(updates)
        elif "| valid on " in line:
            raise UserError(f"{path}:{number}: a validation must have a loss and num_updates: damaged, or cut off?")
        elif match := _TRAIN.search(line):
            trained = _UPDATES.search(line)
            clock.read(_float(match[1], f"{path}:{number}: wall"), int(trained[1]) if trained else None)
            if trained:
                clock.end_part(int(trained[1]))
            speed.end_epoch(line, f"{path}:{number}")
        elif match := _INNER.search(line):
            wall = _float(match[2], f"{path}:{number}: wall")
            clock.read(wall, int(match[1]), pace=_pace(line, f"{path}:{number}"))
            _drop(validations, beyond=int(match[1]))
        elif match := _PARAMETERS.search(line):
            parameters, is_finished, begins = int(match[1].replace(",", "") or 0), False, True
            speed.begin_process()
            clock.begin_process()
        elif "done training in " in line:
            is_finished = True
    if not validations:
        raise NoValidationError(f"{path}: no validation is in this log")
    return TrainLog(validations, parameters, clock.seconds, speed.words_per_second, clock, is_finished)


def needed_lines(path: Path) -> list[str]:
    """Return the lines of a log that `read_train_log` needs, each once; a last line without its end is none."""
    needed = (_VALID, _TRAIN, _INNER, _PARAMETERS)
    return [
        line
        for line, _ in itertools.groupby(_whole_lines(path))
        if "| valid on " in line or "done training in " in line or any(pattern.search(line) for pattern in needed)
    ]


def _whole_lines(path: Path) -> Iterator[str]:
    """Yield the lines of a log without their ends; the last one only if it has an end."""
    with path.open(encoding="utf-8", errors="replace") as file:  # paths in a log may be in any encoding
        yield from (line.removesuffix("\n") for line in file if line.endswith("\n"))


def _drop(validations: list[Validation], *, beyond: int) -> None:
    """Drop the validations after more updates than these, which a training that stands there has lost."""
    while validations and validations[-1].updates > beyond:
        validations.pop()


class _Speed:
    """The words a second of the training steps of whole epochs."""

    def __init__(self) -> None:
        self.rates: list[float] = []
        self.processes = 0
        self.updates: int | None = 0  # at which the epoch began; None in one that an earlier process began

    def begin_process(self) -> None:
        self.processes += 1
        if self.processes > 1:
            self.updates = None

    def begin_anew(self) -> None:
        """Forget the processes before this one, which began at 0 updates."""
        self.rates.clear()
        self.updates = self.updates or 0

    def end_epoch(self, line: str, named: str) -> None:
        if match := _SPEED.search(line):
            updates = int(match[2])
            words, seconds = _float(match[1], f"{named}: wpb"), _float(match[3], f"{named}: train_wall")
            if self.updates is not None and updates > self.updates and words > 0 and seconds > 0:
                self.rates.append(words * (updates - self.updates) / seconds)
            self.updates = updates

    @property
    def words_per_second(self) -> float:
        return statistics.median(self.rates) if self.rates else math.nan


def _pace(line: str, named: str) -> float:
    """Return the seconds of an update that a line within an epoch says, validations included."""
    match = _PACE.search(line)
    if match is None:
        return math.nan
    words_per_second = _float(match[1], f"{named}: wps")
    return _float(match[2], f"{named}: wpb") / words_per_second if words_per_second else math.nan


def _float(text: str, named: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise UserError(f"{named} must be a number, but is {text!r}") from None
