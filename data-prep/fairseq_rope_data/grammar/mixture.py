"""The mixture of sentences that makes the corpus, and the compound sentences that are longer than any of it."""

from collections.abc import Callable, Sequence
from functools import partial

from . import sentences
from .clauses import NOW, PAST
from .dice import Dice
from .sentences import ParallelWords, Tenses
from .text import spell

CONJUNCTIONS = [(("and", "und"), 40), (("but", "aber"), 22), (("so", "deshalb"), 22), (("and then", "und dann"), 16)]
INVERTING = ("so", "and then")  # deshalb and dann fill the first place, so the verb follows them
Maker = Callable[..., ParallelWords]


def compound(dice: Dice, tenses: Tenses, makers: Sequence[tuple[Maker, int]], length: int) -> ParallelWords:
    """Return several sentences joined by and, but, so, and then."""
    whole = dice.weighted(makers)(dice, tenses)
    words, worte = list(whole.english), list(whole.german)
    for _ in range(length - 1):
        word, wort = dice.weighted(CONJUNCTIONS)
        maker = sentences.event if word == "and then" else dice.weighted(makers)
        unit = maker(dice, tenses, inverted=word in INVERTING)
        words += [",", word, *unit.english]
        worte += [",", wort, *unit.german]
    return ParallelWords(words, worte)


SHORT: list[tuple[Maker, int]] = [(partial(sentences.simple, rich=0.25), 1)]
UNITS: list[tuple[Maker, int]] = [
    (partial(sentences.simple, rich=0.35), 55),
    (sentences.subordinate_last, 15),
    (sentences.opinion, 12),
    (sentences.purpose, 8),
    (sentences.with_relative, 10),
]
ORDINARY: list[tuple[Maker, int]] = [
    (sentences.simple, 32),
    (sentences.subordinate_last, 9),
    (sentences.subordinate_first, 9),
    (sentences.opinion, 9),
    (sentences.purpose, 6),
    (sentences.with_relative, 10),
    (sentences.question, 9),
    (partial(compound, makers=SHORT, length=2), 9),
    (partial(compound, makers=SHORT, length=3), 4),
    (partial(compound, makers=UNITS, length=2), 3),
]


def ordinary(dice: Dice) -> tuple[str, str]:
    """Return an English and a German sentence."""
    maker = dice.weighted(ORDINARY)
    pair = maker(dice, NOW if dice.chance(0.55) else PAST)
    end = "?" if maker is sentences.question else "."
    return spell(pair.english, end), spell(pair.german, end)


def long(dice: Dice) -> tuple[str, str]:
    """Return a compound of three to six sentences, of the same clauses and conjunctions as the ordinary ones."""
    length = 3 + int(dice.random() * 4)
    pair = compound(dice, NOW if dice.chance(0.55) else PAST, UNITS, length)
    return spell(pair.english, "."), spell(pair.german, ".")
