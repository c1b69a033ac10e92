"""Choose noun phrases and places that make sense for a verb."""

from collections.abc import Sequence

from .dice import Dice
from .lexicon import Noun, Verb, adjectives, nouns
from .meaning import HE, SHE, THEY, WE, Adjunct, I, Phrase, Pronoun

NAMES = ("Anna", "Peter", "Maria", "Thomas")
PRONOUNS = (I, HE, SHE, WE, THEY)
OTHERS = (HE, SHE, THEY)
OWNERS = ("my", "his", "her", "our")
RELATIONS = (("in front of", "vor"), ("behind", "hinter"), ("next to", "neben"))
SINGULAR = {
    "subject": [("the", 50), ("a", 14), ("this", 8), ("own", 22), ("every", 6)],
    "object": [("the", 45), ("a", 28), ("this", 8), ("own", 19)],
    "known": [("the", 60), ("this", 10), ("own", 30)],
    "place": [("the", 70), ("a", 10), ("this", 8), ("own", 12)],
}
PLURAL = {
    "subject": [("the", 46), ("this", 10), ("own", 20), ("two", 9), ("three", 5), ("many", 10)],
    "object": [("the", 40), ("this", 10), ("own", 16), ("two", 12), ("three", 7), ("many", 8), ("", 7)],
    "known": [("the", 60), ("this", 10), ("own", 30)],
}
MASS = [("", 55), ("the", 35), ("this", 10)]


def noun_phrase(dice: Dice, head: Noun, role: str, *, bare: bool = False) -> Phrase:
    """Return a phrase around a noun; `role` is subject, object, known (definite) or place; `bare` has no adjective."""
    mass = not head.plural
    plural = role != "place" and not mass and dice.chance(0.25)
    if mass:
        options = [option for option in MASS if role != "known" or option[0]]
    else:
        options = (PLURAL if plural else SINGULAR)[role]
    determiner = dice.weighted(options)
    if determiner == "own":
        shared = plural and "parent" in head.kinds  # not my mothers
        determiner = dice.pick(OWNERS) if "own" in head.kinds and not shared else "the"
    qualities = adjectives(*head.kinds)
    adjective = dice.pick(qualities) if qualities and not bare and dice.chance(0.25) else None
    return Phrase(head, determiner, adjective, plural)


def subject(dice: Dice, kinds: Sequence[str], *, nouns_only: bool = False, bare: bool = False) -> Phrase:
    """Return a subject of one of these kinds; persons may be pronouns or names."""
    if "person" in kinds and not nouns_only:
        form = dice.weighted([("pronoun", 25), ("name", 10), ("noun", 65)])
        if form == "pronoun":
            return Phrase(dice.pick(PRONOUNS))
        if form == "name":
            return Phrase(dice.pick(NAMES))
    # as many persons as subjects of the other kinds together would let trains and cows crowd them out
    kinds = ["person"] if "person" in kinds and dice.chance(0.7) else kinds
    return noun_phrase(dice, dice.pick(nouns(*kinds)), "subject", bare=bare)


def argument(dice: Dice, kinds: Sequence[str], doer: Phrase, *, known: bool = False, bare: bool = False) -> Phrase:
    """Return an object that is not its own subject; `known` makes it definite."""
    kind = dice.pick(kinds)
    if kind == "person" and dice.chance(0.3):
        first = isinstance(doer.head, Pronoun) and doer.head.person == 1
        heads = [*(OTHERS if first else PRONOUNS), *(name for name in NAMES if name != doer.head)]
        return Phrase(dice.pick(heads))
    head = dice.pick([word for word in nouns(kind) if word is not doer.head])
    return noun_phrase(dice, head, "known" if known else "object", bare=bare)


def place(dice: Dice, verb: Verb, doer: Phrase) -> Adjunct | None:
    """Return a place for the verb, in the dative; animals stay out of doors."""
    animal = isinstance(doer.head, Noun) and "animal" in doer.head.kinds
    kinds = [kind for kind in verb.places if not animal or kind in ("outdoor", "shade")]
    if not kinds:
        return None
    kind = dice.pick(kinds)
    where = noun_phrase(dice, dice.pick(nouns(kind)), "place")
    if kind == "landmark":
        english, german = dice.pick(RELATIONS)
    else:
        english, german = where.noun.place.split("=")
    return Adjunct(english, german, "dative", where)


def goal(dice: Dice, verb: Verb, doer: Phrase) -> Adjunct:
    """Return where a movement leads: zu with the dative, or in with the accusative (into, and to towns)."""
    animal = isinstance(doer.head, Noun) and "animal" in doer.head.kinds
    kinds = [kind for kind in verb.places if not animal or kind == "outdoor"]
    where = noun_phrase(dice, dice.pick(nouns(*kinds)), "place")
    if where.noun.place == "in=in" and verb.frame == "goal" and dice.chance(0.5):
        return Adjunct("into", "in", "accusative", where)
    if "town" in where.noun.kinds:
        return Adjunct("to", "in", "accusative", where)
    return Adjunct("to", "zu", "dative", where)


def companion(dice: Dice, doer: Phrase) -> Adjunct:
    """Return with whom something is done."""
    known = [word for word in nouns("person") if word is not doer.head and "own" in word.kinds]
    return Adjunct("with", "mit", "dative", noun_phrase(dice, dice.pick(known), "object"))
