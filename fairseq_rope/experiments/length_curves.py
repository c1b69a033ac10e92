"""How well models translate windows of more sentences than they were trained on: a score over lengths.

Reads what recipes make of text in windows:

WORK/text/train.LANG           the training source in BPE, a window a line
WORK/text/SET.LANG             a test set, a sentence a line
WORK/text/SET-wSIZE.LANG       the same in windows of SIZE sentences, and in a run's folder score-SET-wSIZE.json
"""

import re
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from fairseq_rope.experiments.statistic import Statistic, ways, ways_text
from fairseq_rope.experiments.work_folder import Model, model_rows, reports, run_statistics
from fairseq_rope_data.errors import UserError
from fairseq_rope_data.files import read_lines

_WINDOWS = re.compile(r"(?s:(.+))-w([1-9][0-9]{0,8})")


@dataclass(frozen=True)
class Point:
    """The score of a model on windows of one size, or blocks of one length.

    Args:
        size: sentences of a window, or tokens of a block.
        length: the mean length of their sources, by that of the longest in training.
        mean: the score, over seeds; None where they were scored in several ways.
        deviation: the sample standard deviation over seeds; None of one seed.
        ways: in how many ways it was scored.
        counted: such as `1 of 2`, where some seeds have no such score; else empty.
    """

    size: int
    length: float
    mean: float | None
    deviation: float | None
    ways: int = 1
    counted: str = ""


def mean_point(size: int, length: float, scores: Sequence[Statistic], *, seeds: int) -> Point:
    """Return the point of these scores, one or more, of a model of so many seeds."""
    values, count = [each.values[0] for each in scores], ways(scores)
    counted = "" if len(values) == seeds else f"{len(values)} of {seeds}"
    if count > 1:
        return Point(size, length, None, None, count, counted)
    deviation = statistics.stdev(values) if len(values) > 1 else None
    return Point(size, length, statistics.fmean(values), deviation, count, counted)


def curve_notes(curves: Mapping[str, Sequence[Point]], unit: str) -> list[str]:
    """Return a line for each thing that a picture of these curves does not show; `unit` is what sizes count."""
    notes = []
    for title, points in curves.items():
        if not points:
            notes.append(f"note on {title}: left out, it has no such score")
        for point in points:
            if point.mean is None:
                notes.append(f"note on {title}, {point.size} {unit}: left out, {ways_text(point.ways)}")
            elif point.counted:
                notes.append(f"note on {title}, {point.size} {unit}: the mean is of {point.counted}")
    return notes


def length_curves(work: Path, models: Sequence[Model], test_set: str, source_lang: str) -> dict[str, list[Point]]:
    """Return the title of each model -> BLEU of whole windows, from short windows to long ones.

    Args:
        work: a recipe's work folder.
        models: those that have scores of the test set; others have no points.
        test_set: its name, without windows.
        source_lang: the language whose lengths count.

    Raises:
        UserError: a text of what was scored is missing or empty, or a report is damaged.
    """
    scores = {model.title: _scores(model, test_set) for model in models}
    sizes = sorted({size for found in scores.values() for size in found})
    lengths = window_lengths(work, test_set, source_lang, sizes)
    return {
        model.title: [
            mean_point(size, length, scores[model.title][size], seeds=len(model.runs))
            for size, length in lengths.items()
            if size in scores[model.title]
        ]
        for model in models
    }


def window_sets(models: Sequence[Model]) -> list[str]:
    """Return the names of the test sets that have scores of windows of several sentences, without a size."""
    names = (name for model in models for folder in model.runs.values() for name in reports(folder))
    return list(dict.fromkeys(match[1] for name in names if (match := _WINDOWS.fullmatch(name))))


def window_lengths(work: Path, test_set: str, lang: str, sizes: Sequence[int]) -> dict[int, float]:
    """Return size of windows -> their mean length by that of the longest line of the training text."""
    if not sizes:
        return {}
    longest = max(_token_counts(work / "text" / f"train.{lang}"))
    names = {size: test_set if size == 1 else f"{test_set}-w{size}" for size in sizes}
    texts = {size: work / "text" / f"{name}.{lang}" for size, name in names.items()}
    return {size: statistics.fmean(_token_counts(text)) / longest for size, text in texts.items()}


def _scores(model: Model, test_set: str) -> dict[int, list[Statistic]]:
    """Return size of windows, 1 where a line is a sentence -> BLEU of the seeds that have it."""
    found: dict[int, list[Statistic]] = {}
    for name, row in model_rows(model, run_statistics).items():
        whole, _, kind = name.partition(": ")
        match = _WINDOWS.fullmatch(whole)
        if kind == "BLEU" and test_set in (whole, match and match[1]):
            found[int(match[2]) if match and whole != test_set else 1] = [*row.values()]
    return found


def _token_counts(path: Path) -> list[int]:
    """Return the tokens of each line, and one more for the end of the sentence, which has a position too."""
    counts = [len(line.split()) + 1 for line in read_lines(path)]
    if not counts:
        raise UserError(f"{path} is empty")
    return counts
