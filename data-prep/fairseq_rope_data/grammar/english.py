"""English: how it says phrases and clauses. Subject, verb, object, then place or manner, then time."""

from .lexicon import Adverb, Noun
from .meaning import Adjunct, Clause, Phrase, Pronoun

PLURAL_DETERMINERS = {"this": "these", "a": "", "no": "any"}
VOWELS = "aeiou"
PARTICLES = ("up", "on", "off", "away", "along")  # they follow a pronoun: picks him up; prepositions do not
SILENT_H = ("honest",)


def third_person(verb: str) -> str:
    """Return the third person singular; of a phrasal verb, its first word changes: picks up."""
    first, _, rest = verb.partition(" ")
    if first.endswith("y") and first[-2] not in VOWELS:
        first = first[:-1] + "ies"
    else:
        first += "es" if first.endswith(("s", "x", "z", "ch", "sh", "o")) else "s"
    return f"{first} {rest}".strip()


def article(following: str) -> str:
    """Return a or an, by the sound that the next word begins with."""
    return "an" if following[0] in VOWELS or following.startswith(SILENT_H) else "a"


def phrase(what: Phrase, *, as_object: bool = False) -> list[str]:
    """Return the words of a noun phrase with its relative clause."""
    if isinstance(what.head, Pronoun):
        return [what.head.object if as_object else what.head.subject]
    if isinstance(what.head, str):
        return [what.head]
    words = [what.adjective.english] if what.adjective else []
    words.append(what.head.plural if what.plural else what.head.english)
    mass = not what.head.plural
    determiner = PLURAL_DETERMINERS.get(what.determiner, what.determiner) if what.plural else what.determiner
    if determiner in ("a", "no"):
        determiner = "any" if mass else article(words[0])
    if determiner:
        words.insert(0, determiner)
    if what.relative:
        words += relative(what.relative, what.head)
    return words


def relative(clause: Clause, head: Noun) -> list[str]:
    """Return a relative clause: who for persons as subjects, whom as objects, that for all else."""
    person = "person" in head.kinds
    if clause.gap == "subject":
        auxiliary, verb = predicate(clause, supported=False)
        return [("who" if person else "that"), *auxiliary, *complements(clause, verb)]
    return [("whom" if person else "that"), *statement(clause)]


def agreement(subject: Phrase) -> tuple[bool, bool]:
    """Return whether the subject is the first person singular, and whether it is the third."""
    if isinstance(subject.head, Pronoun):
        first = subject.head.subject == "I"
        return first, subject.head.person == 3 and not subject.head.plural
    return False, not subject.plural


def be(clause: Clause) -> str:
    """Return the finite form of to be."""
    first, third = agreement(clause.subject)
    if clause.tense == "past":
        return "was" if first or third else "were"
    return "am" if first else "is" if third else "are"


def predicate(clause: Clause, *, supported: bool) -> tuple[list[str], list[str]]:
    """Return the auxiliary and the rest of the verb; `supported` asks for do, as in questions."""
    _, third = agreement(clause.subject)
    base = clause.verb.english
    negation = ["not"] if clause.negated else []
    if base == "be" and clause.tense in ("present", "past"):
        return [be(clause)], negation
    if clause.tense in ("present", "past", "want"):
        past = clause.tense == "past"
        # wants to buy: want itself is the verb that takes -s or do
        base, tail = ("want", ["to", base]) if clause.tense == "want" else (base, [])
        if supported or clause.negated:
            return ["did" if past else "does" if third else "do"], [*negation, base, *tail]
        return [], [clause.verb.past if past else third_person(base) if third else base, *tail]
    modal = "will" if clause.tense == "future" else clause.tense
    if modal == "can" and clause.negated:
        return ["cannot"], [base]
    return [modal], [*negation, base]


def adjunct(what: Adverb | Adjunct) -> list[str]:
    """Return an adverb, or a preposition with its phrase."""
    if isinstance(what, Adverb):
        return [what.english]
    return [what.english, *phrase(what.phrase, as_object=True)]


def complements(clause: Clause, verb: list[str]) -> list[str]:
    """Return the verb and all that follows it: objects, goal, place and manner, time."""
    words = " ".join(verb).split()
    if clause.object and isinstance(clause.object.head, Pronoun) and words[-1] in PARTICLES:
        return [*words[:-1], *phrase(clause.object, as_object=True), words[-1], *adverbials(clause)]  # picks him up
    if clause.recipient:
        words += phrase(clause.recipient, as_object=True)
    if clause.object and clause.gap != "object":
        words += phrase(clause.object, as_object=True)
    if clause.state:
        words.append(clause.state.english)
    return words + adverbials(clause)


def adverbials(clause: Clause) -> list[str]:
    """Return goal, place and manner, and time."""
    words: list[str] = []
    # an adverb precedes the place (quietly in the park), a prepositional phrase follows it (to the lake by car)
    adverb = isinstance(clause.manner, Adverb) and not clause.goal
    ordered = (clause.manner, clause.place) if adverb else (clause.goal, clause.place, clause.manner)
    for part in ordered:
        words += adjunct(part) if part else []
    if clause.time and not clause.front:
        words.append(clause.time.english)
    return words


def statement(clause: Clause) -> list[str]:
    """Return a main or subordinate clause; English orders both alike."""
    auxiliary, verb = predicate(clause, supported=False)
    front = [clause.time.english] if clause.time and clause.front else []
    return [*front, *phrase(clause.subject), *auxiliary, *complements(clause, verb)]


def question(clause: Clause) -> list[str]:
    """Return a question: question word, auxiliary, subject."""
    auxiliary, verb = predicate(clause, supported=True)
    word = [clause.question[0]] if clause.question[0] else []
    return [*word, *auxiliary, *phrase(clause.subject), *complements(clause, verb)]


def infinitive(clause: Clause) -> list[str]:
    """Return the clause without its subject and its tense, as after `in order to`."""
    return complements(clause, [clause.verb.english])
