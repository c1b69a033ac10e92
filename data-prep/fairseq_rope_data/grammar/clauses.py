"""Choose clauses: a verb, its arguments, and adverbials that suit its tense."""

from collections.abc import Sequence
from dataclasses import replace

from . import phrases
from .dice import Dice
from .lexicon import ADJECTIVES, ADVERBS, VERBS, Adverb, Noun, Verb, adjectives, adverb, verb
from .meaning import IT, Adjunct, Clause, Phrase

MODALS = ("can", "must", "should", "want")
NOW = (("present", 50), ("future", 20), ("modal", 30))
PAST = (("past", 1),)
DOING = [word for word in VERBS if word.frame not in ("state", "weather", "that", "whether")]
GOVERNING = [word for word in DOING if word.objects]
SCOPED = ("every", "many")  # with these a negation has two readings
PLAIN_PERSON = ("person", "adult")  # the kinds of pronouns and names, for adjectives
DESCRIBED = sorted({kind for word in ADJECTIVES for kind in word.kinds})


def tense(dice: Dice, tenses: Sequence[tuple[str, int]], what: Verb) -> str:
    """Return a tense among `tenses`; states stay out of future and modals, only persons' verbs take modals."""
    chosen = dice.weighted(tenses)
    if what.aspect == "state" or (chosen == "modal" and "person" not in what.subjects):
        return "past" if chosen == "past" else "present"
    return dice.pick(MODALS) if chosen == "modal" else chosen


def time(dice: Dice, clause: Clause) -> Adverb | None:
    """Return a time for the clause's tense; habits are left out of negations, whose scope they would make unclear."""
    if clause.verb.aspect == "state" or (clause.negated and clause.tense == "present"):
        return None
    uses = {"past": ("past",), "present": ("present",), "future": ("future",)}.get(clause.tense, ("future", "habit"))
    if clause.negated:
        uses = uses[:1]
    return dice.pick([word for word in ADVERBS if set(uses) & set(word.use)])


def manner(dice: Dice, what: Verb, doer: Phrase) -> Adverb | Adjunct | None:
    """Return how, with whom or by what it is done."""
    if not what.manners:
        return None
    chosen = dice.pick(what.manners)
    if chosen == "with":
        return phrases.companion(dice, doer)
    if chosen == "by":
        return dice.pick([word for word in ADVERBS if "transport" in word.use])
    return adverb(chosen)


def negate(clause: Clause) -> Clause:
    """Return the negation: an indefinite object takes kein, otherwise nicht stands before manner and place."""
    what = clause.object
    if what and not what.definite:
        if "+" in clause.verb.frame and clause.verb.frame != "dat+acc":
            return clause  # wartet nicht auf einen / wartet auf keinen: a choice the English does not make
        what = replace(what, determiner="no")
    return replace(clause, negated=True, object=what, manner=None)


def state(dice: Dice, tenses: Sequence[tuple[str, int]], *, doer: Phrase | None = None) -> Clause:
    """Return a description: the subject is or was as an adjective says."""
    kinds = ["person"] if dice.chance(0.6) else DESCRIBED
    subject = doer or phrases.subject(dice, kinds, bare=True)
    described = subject.head.kinds if isinstance(subject.head, Noun) else PLAIN_PERSON
    own = subject.adjective
    adjective = dice.pick([word for word in adjectives(*described) if word is not own])
    chosen = "past" if tenses == PAST else "present"
    negated = dice.chance(0.12) and subject.determiner not in SCOPED
    return Clause(subject, verb("be"), chosen, negated, state=adjective)


def weather(dice: Dice, tenses: Sequence[tuple[str, int]]) -> Clause:
    """Return a clause about the weather."""
    what = verb(dice.pick(("rain", "snow")))
    clause = Clause(Phrase(IT), what, tense(dice, tenses, what), dice.chance(0.15))
    return replace(clause, time=time(dice, clause) if dice.chance(0.6) else None)


def doing(
    dice: Dice,
    tenses: Sequence[tuple[str, int]],
    *,
    rich: float,
    doer: Phrase | None = None,
    verbs: Sequence[Verb] = DOING,
    negatable: bool = True,
) -> Clause:
    """Return a clause about an event; `rich` is the likelihood of each kind of adverbial and of a negation."""
    what = dice.pick(verbs)
    subject = doer or phrases.subject(dice, what.subjects)
    clause = Clause(subject, what, tense(dice, tenses, what))
    if what.frame in ("goal", "to"):
        clause = replace(clause, goal=phrases.goal(dice, what, subject))
    elif what.frame == "dat+acc":
        recipient = phrases.argument(dice, ("person",), subject, known=True, bare=rich < 0.5)
        gift = phrases.argument(dice, what.objects, subject, bare=rich < 0.5)
        clause = replace(clause, recipient=recipient, object=gift)
    elif what.objects:
        known = what.frame == "dat" and dice.chance(0.7)
        clause = replace(clause, object=phrases.argument(dice, what.objects, subject, known=known, bare=rich < 0.3))
    if what.aspect == "event":
        # by train is part of travelling; elsewhere manner and place are extras
        clause = replace(clause, manner=manner(dice, what, subject) if dice.chance(rich * 0.6) else None)
        if what.frame == "place" or (what.frame not in ("goal", "to") and dice.chance(rich)):
            clause = replace(clause, place=phrases.place(dice, what, subject))
        # must not is not muss nicht
        deniable = negatable and subject.determiner not in SCOPED and clause.tense != "must"
        if deniable and dice.chance(0.13):
            clause = negate(clause)
        if dice.chance(rich):
            clause = replace(clause, time=time(dice, clause))
    return clause


def any_clause(dice: Dice, tenses: Sequence[tuple[str, int]], *, rich: float) -> Clause:
    """Return an event, a description or the weather."""
    kind = dice.weighted([("doing", 78), ("state", 16), ("weather", 6)])
    if kind == "doing":
        return doing(dice, tenses, rich=rich)
    return state(dice, tenses) if kind == "state" else weather(dice, tenses)
