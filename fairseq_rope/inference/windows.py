"""Windows of several lines that are translated together: which lines, and one source of all their tokens."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import torch
from torch import Tensor


class Line(NamedTuple):
    """A line's number, from 1, and its source tokens, (S,) with </s>; None where no word is in it."""

    number: int
    tokens: Tensor | None


def windows_of(lines: Iterable[Line | None], size: int, *, max_tokens: int) -> Iterator[list[Line]]:
    """Yield neighboring lines in windows, as soon as they are full.

    Args:
        lines: in order, each with `max_tokens` at most. One without a word ends a document: it is alone. So does None,
            which is no line.
        size: lines of a window, at most.
        max_tokens: of a window, with a separator or </s> after each line.
    """
    window: list[Line] = []
    room = max_tokens
    for line in lines:
        tokens = None if line is None else line.tokens
        if window and (tokens is None or len(tokens) > room):
            yield window
            window, room = [], max_tokens
        if line is None:
            continue
        window.append(line)
        room -= 0 if tokens is None else len(tokens)
        if tokens is None or len(window) == size:
            yield window
            window, room = [], max_tokens
    if window:
        yield window


def source_of(window: Sequence[Line], separator: int) -> Tensor:
    """Return the tokens of a window, whose lines have words: a separator between them, </s> at the end."""
    lines = [line.tokens for line in window if line.tokens is not None]
    if len(lines) == 1:
        return lines[0]
    tokens = torch.cat(lines)
    tokens[torch.tensor([len(line) for line in lines]).cumsum(0)[:-1] - 1] = separator
    return tokens


def targets_of(tokens: Sequence[int], separator: int) -> list[list[int]]:
    """Return the target tokens between separators."""
    found: list[list[int]] = [[]]
    for token in tokens:
        if token == separator:
            found.append([])
        else:
            found[-1].append(token)
    return found


def buffers(windows: Iterable[list[Line]], lines: int) -> Iterator[list[list[Line]]]:
    """Yield windows in lists of at least so many lines; the last may have less."""
    buffer: list[list[Line]] = []
    count = 0
    for window in windows:
        buffer.append(window)
        count += len(window)
        if count >= lines:
            yield buffer
            buffer, count = [], 0
    if buffer:
        yield buffer
