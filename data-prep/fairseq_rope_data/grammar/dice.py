"""Chance that is the same on every Python: all of it comes from Random.random, whose sequence is fixed."""

from collections.abc import Sequence
from random import Random
from typing import TypeVar

T = TypeVar("T")


class Dice:
    """A seeded source of choices; `choice`, `sample` and `shuffle` of `random` may change between versions."""

    def __init__(self, seed: int) -> None:
        """Start the sequence of `seed`."""
        self.random = Random(seed).random

    def chance(self, probability: float) -> bool:
        """Return true with this probability."""
        return self.random() < probability

    def pick(self, items: Sequence[T]) -> T:
        """Return one of the items, all equally likely."""
        return items[int(self.random() * len(items))]

    def weighted(self, items: Sequence[tuple[T, int]]) -> T:
        """Return one of the items, each as likely as its whole weight; whole numbers add without rounding."""
        point = self.random() * sum(weight for _, weight in items)
        for item, weight in items:
            point -= weight
            if point < 0:
                return item
        return items[-1][0]

    def shuffle(self, items: list[T]) -> None:
        """Shuffle in place (Fisher-Yates)."""
        for last in range(len(items) - 1, 0, -1):
            other = int(self.random() * (last + 1))
            items[last], items[other] = items[other], items[last]
