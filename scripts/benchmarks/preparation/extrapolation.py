"""From measurements at some sizes to a larger one."""

import math
from typing import NamedTuple

from benchmarks.preparation.process_tree import Measurement


class Point(NamedTuple):
    """A stage at one size of text."""

    pairs: int
    words: int
    measured: Measurement


def linear(points: list[Point], words: int, field: str) -> float:
    """Continue the line through the two largest sizes; through the origin where there is one size."""
    *rest, last = sorted(points, key=lambda point: point.words)
    y = getattr(last.measured, field)
    if not rest:
        return float(y * words / last.words)
    slope = (y - getattr(rest[-1].measured, field)) / (last.words - rest[-1].words)
    return float(y + max(slope, 0.0) * (words - last.words))


def power(points: list[Point], words: int, field: str) -> float:
    """Continue the power law through the two largest sizes, as word types grow with text; linear for one size."""
    *rest, last = sorted(points, key=lambda point: point.words)
    y = getattr(last.measured, field)
    if not rest:
        return float(y * words / last.words)
    growth = max(y / getattr(rest[-1].measured, field), 1.0)
    steps = math.log(words / last.words) / math.log(last.words / rest[-1].words)
    return float(y * growth**steps)


def seconds(cpu: float, main_cpu: float, cores: int) -> float:
    """Return the time of a stage of which the first process's part runs on one core (Amdahl)."""
    return main_cpu + max(cpu - main_cpu, 0.0) / cores
