"""How well models translate windows of more sentences than they were trained on: a score over lengths.

Reads what recipes make of text in windows:

WORK/text/train.LANG           the training source in BPE, a window a line
WORK/text/SET.LANG             a test set, a sentence a line
WORK/text/SET-wSIZE.LANG       the same in windows of SIZE sentences, and in a run's folder score-SET-wSIZE.json
"""

import re
import statistics
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from fairseq_rope.experiments.statistic import Statistic, ways
from fairseq_rope.experiments.work_folder import Model, model_rows, run_statistics
from fairseq_rope_data.errors import UserError
from fairseq_rope_data.files import read_lines


@dataclass(frozen=True)
class Point:
    """The score of a model on windows of one size, or blocks of one length.

    Args:
        size: sentences of a window, or tokens of a block.
        length: the mean length of their sources, by that of the longest in training.
        mean: the score, over seeds.
        deviation: the sample standard deviation over seeds; None of one seed.
    """

    size: int
    length: float
    mean: float
    deviation: float | None


def points_of(scores: Mapping[tuple[int, float], Collection[Statistic]]) -> list[Point]:
    """Return a point for each size and length whose scores, one of each seed, are there and made in the same way."""
    points = []
    for (size, length), found in sorted(scores.items()):
        if ways(found) == 1:
            values = [each.values[0] for each in found]
            deviation = statistics.stdev(values) if len(values) > 1 else None
            points.append(Point(size, length, statistics.fmean(values), deviation))
    return points


def length_curves(work: Path, models: Sequence[Model], test_set: str, source_lang: str) -> dict[str, list[Point]]:
    """Return the title of each model -> BLEU of whole windows, from short windows to long ones.

    Args:
        work: a recipe's work folder.
        models: those that have scores of the test set; others have no points, nor have scores made in several ways.
        test_set: its name, without windows.
        source_lang: the language whose lengths count.

    Raises:
        UserError: a text is missing or empty, or a report is damaged.
    """
    lengths = dict(window_lengths(work, test_set, source_lang))
    curves = {}
    for model in models:
        rows = model_rows(model, run_statistics)
        scores = {}
        for sentences, length in lengths.items():
            name = test_set if sentences == 1 else f"{test_set}-w{sentences}"
            scores[sentences, length] = rows.get(f"{name}: BLEU", {}).values()
        curves[model.title] = points_of(scores)
    return curves


def window_lengths(work: Path, test_set: str, lang: str) -> Iterator[tuple[int, float]]:
    """Yield sizes of windows with the mean length of those, by the longest line of the training text; ascending."""
    longest = max(_token_counts(work / "text" / f"train.{lang}"))
    sizes = {1: test_set}
    for path in (work / "text").glob(f"{test_set}-w*.{lang}"):
        if match := re.fullmatch(rf"{re.escape(test_set)}-w([0-9]+)\.{re.escape(lang)}", path.name):
            sizes[int(match[1])] = path.name.removesuffix(f".{lang}")
    for size, name in sorted(sizes.items()):
        yield size, statistics.fmean(_token_counts(work / "text" / f"{name}.{lang}")) / longest


def _token_counts(path: Path) -> list[int]:
    """Return the tokens of each line, and one more for the end of the sentence, which has a position too."""
    counts = [len(line.split()) + 1 for line in read_lines(path)]
    if not counts:
        raise UserError(f"{path} is empty")
    return counts
