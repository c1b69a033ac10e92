"""Scores of windows of several sentences: of each sentence, split again by the index of the windows."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TypeVar

from fairseq_rope.scoring.metrics import Metric, Score
from fairseq_rope.scoring.text import Text
from fairseq_rope_data.errors import UserError
from fairseq_rope_data.window_index import WindowIndex, split

Item = TypeVar("Item")


@dataclass(frozen=True)
class Position:
    """The score of all sentences that stand at this place of their window, counted from 1."""

    position: int
    sentences: int
    score: Score


@dataclass(frozen=True)
class WindowScores:
    """The scores of windows by sentence.

    Args:
        windows: how many.
        wrong: how many of them have a hypothesis of another number of sentences; what it lacks counts as empty, and
            what it has too much is joined to its last sentence.
        sentences: the score of all sentences together.
        positions: by their place in the window.
    """

    windows: int
    wrong: int
    sentences: Score
    positions: list[Position]


def split_windows(text: Text, index: WindowIndex) -> tuple[Text, list[int]]:
    """Return the sentences of all windows, and which windows, from 0, have another number of them than the index says.

    Args:
        text: a window a line, BPE joined; as many as the index has.
        index: of the windows.
    """
    found = [split(line, index.separator, window.lines) for line, window in zip(text.lines, index.windows, strict=True)]
    wrong = [i for i, (each, window) in enumerate(zip(found, index.windows, strict=True)) if each.found != window.lines]
    numbers = [text.numbers[i] if text.numbers else i + 1 for i, each in enumerate(found) for _ in each.lines]
    return Text(text.name, [line for each in found for line in each.lines], numbers), wrong


def split_references(text: Text, index: WindowIndex) -> Text:
    """Return the sentences of references, whose windows have no other number of them than the index says.

    Raises:
        UserError: one has another number.
    """
    sentences, wrong = split_windows(text, index)
    if wrong:
        lines = index.windows[wrong[0]].lines
        raise UserError(
            f"{text.location(wrong[0])}: must have {lines} sentences with {index.separator} between them, as --windows "
            f"says ({len(wrong)} of {len(index.windows)} windows)"
        )
    return sentences


def lines_in_windows(text: Text, index: WindowIndex) -> Text:
    """Return the lines of a text, all of them, that stand in a window."""
    numbers = [window.first + i for window in index.windows for i in range(window.lines)]
    return Text(text.name, [text.lines[number - 1] for number in numbers], numbers)


def whole_windows(sentences: Text, index: WindowIndex) -> Text:
    """Return windows as text without separators."""
    lines = [" ".join(filter(None, each)) for each in _by_window(sentences.lines, index)]
    return Text(sentences.name, lines, [each[0] for each in _by_window(sentences.numbers, index)])


def all_lines(sentences: Sequence[str], index: WindowIndex) -> list[str]:
    """Return a line for each line of the text that windows were made of; one that is in no window is blank."""
    lines = [""] * index.lines
    for window, inside in zip(index.windows, _by_window(sentences, index), strict=True):
        lines[window.first - 1 : window.first - 1 + window.lines] = inside
    return lines


def window_scores(
    hyps: Sequence[str], refs: Sequence[str], index: WindowIndex, *, wrong: int, metric: Metric
) -> WindowScores:
    """Score the sentences of windows together and by their place.

    Args:
        hyps: raw, all sentences of all windows.
        refs: as many references.
        index: of the windows.
        wrong: how many windows have another number of sentences.
        metric: what scores them.
    """
    places = [i for window in index.windows for i in range(1, window.lines + 1)]
    positions = []
    for place in range(1, max(places) + 1):
        inside = [i for i, other in enumerate(places) if other == place]
        score = metric([hyps[i] for i in inside], [refs[i] for i in inside])
        positions.append(Position(place, len(inside), score))
    return WindowScores(len(index.windows), wrong, metric(hyps, refs), positions)


def _by_window(sentences: Sequence[Item], index: WindowIndex) -> list[Sequence[Item]]:
    ends = list(accumulate(window.lines for window in index.windows))
    return [sentences[end - window.lines : end] for end, window in zip(ends, index.windows, strict=True)]
