"""Choose sentences with relative clauses, whose pronoun agrees with its noun in German."""

from collections.abc import Sequence
from dataclasses import replace

from . import phrases
from .clauses import DOING, GOVERNING, doing, state
from .dice import Dice
from .lexicon import Noun, adjectives, nouns
from .meaning import Clause, Phrase, Pronoun

# One object, and a person who does it.
TAKING = [verb for verb in GOVERNING if verb.frame != "dat+acc" and "person" in verb.subjects]
Tenses = Sequence[tuple[str, int]]


def relative(dice: Dice, tenses: Tenses, what: Phrase, *, outer: Clause | None = None) -> Phrase:
    """Return the phrase with a relative clause in which it is the subject or, when a verb governs it, the object.

    `outer` is the clause around it; the relative clause repeats neither its verb nor its subject.
    """
    used = (what.head, *((outer.verb, outer.subject.head) if outer else ()))
    kinds = set(what.noun.kinds)
    subjects = [verb for verb in DOING if verb not in used and kinds & set(verb.subjects)]
    governed = [verb for verb in TAKING if verb not in used and kinds & set(verb.objects)]
    described = adjectives(*what.noun.kinds)
    if governed and (not subjects or dice.chance(0.5)):
        who = phrases.subject(dice, ["person"], bare=True)
        while who.head in used and not isinstance(who.head, Pronoun):
            who = phrases.subject(dice, ["person"], bare=True)
        inner = doing(dice, tenses, rich=0.0, doer=who, verbs=governed, negatable=False)
        return replace(what, relative=replace(inner, object=what, gap="object"))
    if described and (not subjects or dice.chance(0.3)):
        return replace(what, relative=replace(state(dice, tenses, doer=what), gap="subject"))
    inner = doing(dice, tenses, rich=0.25, doer=what, verbs=subjects)
    return replace(what, relative=replace(inner, gap="subject"))


def about_subject(dice: Dice, tenses: Tenses) -> Clause:
    """Return a clause whose subject has a relative clause: the woman who sings knows them."""
    if dice.chance(0.5):
        what = plain(dice, dice.pick(nouns("person")))
        able = [verb for verb in DOING if "person" in verb.subjects]
        return doing(dice, tenses, rich=0.25, doer=relative(dice, tenses, what), verbs=able)
    wanted = sorted({kind for verb in TAKING for kind in verb.objects if kind != "person"})
    heads = [word for word in nouns(*wanted) if adjectives(*word.kinds)]
    return state(dice, tenses, doer=relative(dice, tenses, plain(dice, dice.pick(heads))))


def about_object(dice: Dice, tenses: Tenses) -> Clause:
    """Return a clause that ends in a relative clause about its object."""
    verb = dice.pick(TAKING)
    clause = doing(dice, tenses, rich=0.0, verbs=[verb], negatable=False)
    what = clause.object
    while what is None or not isinstance(what.head, Noun):
        what = phrases.argument(dice, verb.objects, clause.subject, known=True)
    clause = replace(clause, object=what)
    return replace(clause, object=relative(dice, tenses, plain(dice, what.head), outer=clause))


def plain(dice: Dice, head: Noun) -> Phrase:
    """Return a definite phrase, sometimes plural."""
    plural = bool(head.plural) and dice.chance(0.25)
    return Phrase(head, "this" if dice.chance(0.15) else "the", None, plural)
