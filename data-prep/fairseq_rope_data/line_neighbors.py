"""Whether lines that stand next to each other belong together: in a text whose order is lost they do not.

In running text a name or a rare word comes again in the next sentence far more often than in any other one. Measured on
2,000 lines, or all where there are fewer: of TED talks, Europarl and news tests in order 11% to 45% share a
rare word with the line before them, and 1% to 3% once they are shuffled. Sentences collected one by one, as image
captions or examples, are like shuffled ones. Sorted lines share words with their neighbors too, so they are told apart.
"""

import itertools
import json
import math
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

from fairseq_rope_data.errors import UserError
from fairseq_rope_data.files import read_lines

LINES = 2000
# below it chance is too large: 100 ordered lines are 3.5 to 12 deviations above it
LEAST = 100
_DEVIATIONS = 3.0
_RARE = 0.01
_SHUFFLES = 10
_SORTED = 0.9  # of lines in running text about half come after the one before


def check_order(prefix: str, side: Path) -> None:
    """Check that lines are still neighbors, as far as a program can know.

    Raises:
        UserError: clean_corpus says that it has dropped pairs, or the lines look shuffled, sorted or collected.
    """
    report = Path(f"{prefix}.clean.json")
    if report.is_file():
        try:
            facts = json.loads(report.read_bytes())
            read, dropped, left_blank = facts["read"], facts["read"] - facts["kept"], "left_blank" in facts
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise UserError(f"{report} is damaged: {error!r}") from None
        if dropped and not left_blank:
            raise UserError(
                f"{report}: {dropped:,} of {read:,} pairs were dropped, so lines are no neighbors any more: use "
                "clean_corpus --leave-blank, or here --any-order"
            )
    for number, lines in order_samples(side):
        if not belong_together(lines):
            raise UserError(
                f"{side}: its order looks lost from line {number:,} on: neighboring lines share no more rare words "
                "than lines at random, or are sorted; --any-order leaves this check out"
            )


def order_samples(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Yield the first, middle and last LINES of those that are not blank, each with the number of its first."""
    count = sum(bool(line.strip()) for line in read_lines(path))
    for start in sorted({max(0, part) for part in (0, (count - LINES) // 2, count - LINES)}):
        numbered = ((number, line) for number, line in enumerate(read_lines(path), 1) if line.strip())
        chosen = list(itertools.islice(numbered, start, start + LINES))
        if chosen:
            yield chosen[0][0], [line for _, line in chosen]


def belong_together(lines: Sequence[str]) -> bool:
    """Return whether neighbors share rare words more often than by chance, and are not sorted; True for few lines.

    Args:
        lines: tokens or BPE pieces between white space, or words.
    """
    if len(lines) < LEAST:
        return True
    lower = [line.lower() for line in lines]
    if sum(one <= other for one, other in pairwise(lower)) > _SORTED * len(lines):
        return False
    words = [set(line.split()) for line in lower]
    frequency = Counter(word for line in words for word in line)
    most = max(2, _RARE * len(lines))
    rare = [{word for word in line if 2 <= frequency[word] <= most} for line in words]
    shared = _sharing(rare)
    dice = random.Random(0)
    by_chance = sum(_sharing(dice.sample(rare, len(rare))) for _ in range(_SHUFFLES)) / _SHUFFLES
    # a count of rare events: its variance is its mean
    return shared - by_chance > _DEVIATIONS * math.sqrt(max(by_chance, 1))


def _sharing(lines: Sequence[set[str]]) -> int:
    """Return how many lines share a word with the one before."""
    return sum(not one.isdisjoint(other) for one, other in pairwise(lines))
