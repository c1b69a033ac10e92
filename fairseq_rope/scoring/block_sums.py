"""What a masked language model makes of the masked tokens of a text, block by block, and its scores from that."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class BlockSums:
    """What a model makes of the masked tokens of each block.

    Args:
        tokens: how many there are.
        bits: the sum of their losses, in bits.
        correct: how many of them are the model's first guess.
    """

    tokens: list[int] = field(default_factory=list)
    bits: list[float] = field(default_factory=list)
    correct: list[int] = field(default_factory=list)

    def statistics(self) -> NDArray[np.float64]:
        """Return the three as an array, (blocks, 3)."""
        return np.array([self.tokens, self.bits, self.correct], dtype=np.float64).T


def mean_bits(sums: NDArray[Any]) -> float:
    """Return bits a masked token, of the sums of tokens, bits and correct ones over blocks, (3,); 0 of no tokens."""
    return float(sums[1] / max(sums[0], 1))


def accuracy(sums: NDArray[Any]) -> float:
    """Return the percentage of masked tokens that are the model's first guess, of the same sums."""
    return float(100 * sums[2] / max(sums[0], 1))
