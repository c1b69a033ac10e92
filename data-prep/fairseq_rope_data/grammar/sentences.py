"""Choose sentences of one or two clauses and say them in both languages."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from . import english, german, relatives
from .clauses import DOING, NOW, PAST, any_clause, doing
from .dice import Dice
from .lexicon import verb
from .meaning import Clause

Tenses = Sequence[tuple[str, int]]
HABITS = (("present", 1),)
SUBORDINATORS = (("because", "weil"), ("although", "obwohl"), ("while", "während"))
AIMS = ("work", "sleep", "dance", "play", "swim")  # what people set out to do, besides the verbs with an object
CHANCES = ("forget", "dream of", "think of", "find", "hear")  # and what they do not
OPINIONS = ("say", "know", "believe", "hope")
QUESTION_WORDS = {"time": ("when", "wann"), "place": ("where", "wo"), "reason": ("why", "warum")}


@dataclass(frozen=True)
class ParallelWords:
    """A sentence or a part of one, in words and commas of both languages."""

    english: list[str]
    german: list[str]


def main_clause(clause: Clause, *, inverted: bool = False) -> ParallelWords:
    """Return a main clause; `inverted` when something else fills the first place of the German."""
    if inverted:
        clause = replace(clause, front=False)
    return ParallelWords(english.statement(clause), (german.verb_first if inverted else german.verb_second)(clause))


def fronted(dice: Dice, clause: Clause) -> Clause:
    """Return the clause, perhaps with its time in front."""
    return replace(clause, front=bool(clause.time) and dice.chance(0.45))


def simple(dice: Dice, tenses: Tenses, *, inverted: bool = False, rich: float = 0.5) -> ParallelWords:
    """Return one main clause."""
    return main_clause(fronted(dice, any_clause(dice, tenses, rich=rich)), inverted=inverted)


def event(dice: Dice, tenses: Tenses, *, inverted: bool = False) -> ParallelWords:
    """Return one main clause in which something happens, as after and then."""
    return main_clause(fronted(dice, doing(dice, tenses, rich=0.3, negatable=False)), inverted=inverted)


def subordinate_last(dice: Dice, tenses: Tenses, *, inverted: bool = False) -> ParallelWords:
    """Return a main clause and a clause with because, although or while, verb final in German."""
    first = main_clause(fronted(dice, any_clause(dice, tenses, rich=0.3)), inverted=inverted)
    word, wort = dice.pick(SUBORDINATORS)
    second = doing(dice, tenses, rich=0.3) if word == "while" else any_clause(dice, tenses, rich=0.3)
    return ParallelWords(
        [*first.english, word, *english.statement(second)],
        [*first.german, ",", wort, *german.verb_final(second), ","],
    )


def subordinate_first(dice: Dice, tenses: Tenses) -> ParallelWords:
    """Return a clause with if, because or although before its main clause, which German begins with the verb."""
    word, wort = dice.pick((("if", "wenn"), *SUBORDINATORS[:2])) if tenses is NOW else dice.pick(SUBORDINATORS[:2])
    first = any_clause(dice, HABITS if word == "if" else tenses, rich=0.3)
    if word == "if":
        first = replace(first, time=None)
    second = main_clause(any_clause(dice, tenses, rich=0.3), inverted=True)
    return ParallelWords(
        [word, *english.statement(first), ",", *second.english],
        [wort, *german.verb_final(first), ",", *second.german],
    )


def opinion(dice: Dice, tenses: Tenses, *, inverted: bool = False) -> ParallelWords:
    """Return somebody's words or thoughts: says that, does not know whether."""
    plain = (("past", 1),) if tenses is PAST else HABITS
    unsure = dice.chance(0.35)
    thinks = verb(dice.pick(("know", "ask") if unsure else OPINIONS))
    first = doing(dice, plain, rich=0.0, verbs=[thinks], negatable=False)
    if unsure and thinks.english == "know":
        first = replace(first, negated=True)
    inner = any_clause(dice, tenses, rich=0.35)
    said = main_clause(first, inverted=inverted)
    return ParallelWords(
        [*said.english, "whether" if unsure else "that", *english.statement(inner)],
        [*said.german, ",", "ob" if unsure else "dass", *german.verb_final(inner), ","],
    )


def purpose(dice: Dice, tenses: Tenses, *, inverted: bool = False) -> ParallelWords:
    """Return a main clause with in order to, in German um ... zu."""
    starts = [word for word in DOING if word.frame in ("goal", "to") or word.english in ("get up", "go out", "work")]
    able = [word for word in DOING if word.aspect == "event" and word.english not in CHANCES]
    able = [word for word in able if word.objects or word.english in AIMS]
    first = doing(dice, tenses, rich=0.3, verbs=[word for word in starts if "animal" not in word.subjects])
    second = doing(dice, HABITS, rich=0.3, doer=first.subject, verbs=able, negatable=False)
    second = replace(second, time=None)
    said = main_clause(fronted(dice, first), inverted=inverted)
    return ParallelWords(
        [*said.english, "in order to", *english.infinitive(second)],
        [*said.german, ",", "um", *german.infinitive(second), ","],
    )


def with_relative(dice: Dice, tenses: Tenses, *, inverted: bool = False) -> ParallelWords:
    """Return a main clause with a relative clause about its subject or object."""
    clause = (relatives.about_subject if dice.chance(0.5) else relatives.about_object)(dice, tenses)
    return main_clause(clause, inverted=inverted)


def question(dice: Dice, tenses: Tenses) -> ParallelWords:
    """Return a question with or without a question word, which replaces the time, the place or nothing."""
    clause = any_clause(dice, tenses, rich=0.5)
    kind = dice.pick(("", "", "time", "place", "reason"))
    if kind == "time" and (clause.verb.aspect == "state" or clause.verb.frame == "weather"):
        kind = "reason"
    if kind == "place" and not clause.place:
        kind = "reason"
    if kind == "time":
        clause = replace(clause, time=None)
    if kind == "place":
        clause = replace(clause, place=None)
    word, wort = QUESTION_WORDS[kind] if kind else ("", "")
    clause = replace(clause, question=(word, wort))
    return ParallelWords(english.question(clause), [*([wort] if wort else []), *german.verb_first(clause)])
