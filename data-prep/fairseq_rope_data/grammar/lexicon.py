"""The vocabulary: four tables of words, read and checked.

The words are data, so they live in tab-separated files beside this module, one lexeme a line. One English word has one
German word, which makes the translation a function of the English sentence.
"""

import csv
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).parent
NONE = "-"


@dataclass(frozen=True)
class Noun:
    """A noun; `plural` is empty for masses (water), `place` is its locative preposition, English=German."""

    english: str
    plural: str
    german: str
    gender: str
    german_plural: str
    oblique: str
    place: str
    kinds: tuple[str, ...]


@dataclass(frozen=True)
class Adjective:
    """An adjective; endings go to `stem`, which differs from the bare form in teuer, teure."""

    english: str
    german: str
    stem: str
    kinds: tuple[str, ...]


@dataclass(frozen=True)
class Verb:
    """A verb; `german` marks a separable prefix (an|rufen), `frame` says what the verb governs."""

    english: str
    past: str
    german: str
    ich: str
    er: str
    participle: str
    auxiliary: str
    frame: str
    subjects: tuple[str, ...]
    objects: tuple[str, ...]
    places: tuple[str, ...]
    manners: tuple[str, ...]
    aspect: str


@dataclass(frozen=True)
class Adverb:
    """A fixed adverbial; `use` lists the tenses that it goes with, or manner."""

    english: str
    german: str
    use: tuple[str, ...]


LISTS = {"kinds", "subjects", "objects", "places", "manners", "use"}


def rows(path: Path) -> Iterable[tuple[str, dict[str, str | tuple[str, ...]]]]:
    """Yield the place (path:line) and the cells of each line of a table; a dash is an empty cell.

    Raises:
        ValueError: a line has another number of cells than the header.
    """
    with path.open(encoding="utf-8", newline="") as lines:
        table = csv.reader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)
        header = next(table)
        for number, cells in enumerate(table, start=2):
            if len(cells) != len(header):
                raise ValueError(f"{path}:{number}: expected {len(header)} cells, but found {len(cells)}")
            row: dict[str, str | tuple[str, ...]] = {}
            for name, cell in zip(header, cells, strict=True):
                value = "" if cell == NONE else cell
                row[name] = tuple(value.split(",")) if name in LISTS and value else () if name in LISTS else value
            yield f"{path}:{number}", row


def read_verbs(path: Path) -> list[Verb]:
    """Read the verbs; one whose past equals its base (put, read) would make the tense ambiguous.

    Raises:
        ValueError: the past of a verb equals its base.
    """
    verbs = []
    for place, row in rows(path):
        verb = Verb(**row)  # type: ignore[arg-type]
        if verb.past == verb.english:
            raise ValueError(f"{place}: a verb's past must differ from its base, but both are {verb.english!r}")
        verbs.append(verb)
    return verbs


NOUNS: list[Noun] = [Noun(**row) for _, row in rows(FOLDER / "nouns.tsv")]  # type: ignore[arg-type]
ADJECTIVES: list[Adjective] = [Adjective(**row) for _, row in rows(FOLDER / "adjectives.tsv")]  # type: ignore[arg-type]
ADVERBS: list[Adverb] = [Adverb(**row) for _, row in rows(FOLDER / "adverbs.tsv")]  # type: ignore[arg-type]
VERBS: list[Verb] = read_verbs(FOLDER / "verbs.tsv")


@cache
def nouns(*kinds: str) -> tuple[Noun, ...]:
    """Return the nouns of any of these kinds, in the order of their table."""
    return tuple(word for word in NOUNS if not set(kinds).isdisjoint(word.kinds))


@cache
def adjectives(*kinds: str) -> tuple[Adjective, ...]:
    """Return the adjectives for any of these kinds, in the order of their table."""
    return tuple(word for word in ADJECTIVES if not set(kinds).isdisjoint(word.kinds))


def noun(english: str) -> Noun:
    """Return the noun with this English singular."""
    return next(word for word in NOUNS if word.english == english)


def verb(english: str) -> Verb:
    """Return the verb with this English base form."""
    return next(word for word in VERBS if word.english == english)


def adverb(english: str) -> Adverb:
    """Return the adverbial with this English form."""
    return next(word for word in ADVERBS if word.english == english)


def adjective(english: str) -> Adjective:
    """Return the adjective with this English form."""
    return next(word for word in ADJECTIVES if word.english == english)
