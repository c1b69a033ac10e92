"""A sample of a stream whose length nobody knows beforehand."""

import random
from typing import Generic, TypeVar

Item = TypeVar("Item")


class Reservoir(Generic[Item]):
    """Items drawn evenly from all that were added, the same ones each time, in memory for `size` of them.

    Vitter's algorithm R: the n-th item takes the place of one drawn before with probability size / n.

    Args:
        size: items to keep, at least 1; all are kept, in their order, while there are no more.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self.count = 0
        self.items: list[Item] = []
        self._dice = random.Random(0)

    def add(self, item: Item) -> None:
        """Take an item of the stream into account."""
        self.count += 1
        if len(self.items) < self.size:
            self.items.append(item)
        elif (place := int(self._dice.random() * self.count)) < self.size:
            self.items[place] = item
