"""German: how it says clauses. The finite verb stands second, first or last; between are time, manner, place."""

from .declension import RELATIVES, cell, contract, decline, gender_of
from .lexicon import Adverb, Verb
from .meaning import Adjunct, Clause, Phrase, Pronoun

# by the subject's form: ich, er, plural
HABEN = ("habe", "hat", "haben")
SEIN = ("bin", "ist", "sind")
PAST_SEIN = ("war", "war", "waren")
AUXILIARIES = {
    "future": ("werde", "wird", "werden"),
    "can": ("kann", "kann", "können"),
    "must": ("muss", "muss", "müssen"),
    "should": ("sollte", "sollte", "sollten"),
    "want": ("will", "will", "wollen"),
}
CASE_NAMES = {"acc": "accusative", "dat": "dative"}


def phrase(what: Phrase, case: str) -> list[str]:
    """Return a noun phrase; commas enclose its relative clause."""
    words = decline(what, case)
    if what.relative:
        words += [",", *relative(what.relative, what), ","]
    return words


def relative(clause: Clause, antecedent: Phrase) -> list[str]:
    """Return a relative clause; the pronoun has the antecedent's gender and the case of its own role."""
    preposition, case = ("", "nominative") if clause.gap == "subject" else government(clause.verb)
    pronoun = cell(RELATIVES, gender_of(antecedent), case)
    return [*([preposition] if preposition else []), pronoun, *verb_final(clause)]


def government(verb: Verb) -> tuple[str, str]:
    """Return the preposition (or "") and the case of a verb's object."""
    preposition, _, case = verb.frame.replace("dat+acc", "acc").rpartition("+")
    return preposition, CASE_NAMES[case]


def split(verb: Verb) -> tuple[str, str]:
    """Return the separable prefix (or "") and the rest of the infinitive."""
    prefix, _, stem = verb.german.rpartition("|")
    return prefix, stem


def person(subject: Phrase) -> int:
    """Return the index of the subject's verb form: 0 ich, 1 er, 2 plural."""
    if isinstance(subject.head, Pronoun):
        return 2 if subject.head.plural else 0 if subject.head.person == 1 else 1
    return 2 if subject.plural else 1


def verb_parts(clause: Clause) -> tuple[str, list[str]]:
    """Return the finite verb and what closes the clause: a prefix, a participle or an infinitive."""
    verb, form = clause.verb, person(clause.subject)
    prefix, stem = split(verb)
    if verb.english == "be" and clause.tense in ("present", "past"):
        return (SEIN if clause.tense == "present" else PAST_SEIN)[form], []
    if clause.tense == "present":
        return (verb.ich, verb.er, stem)[form], [prefix] if prefix else []
    if clause.tense == "past":
        return (SEIN if verb.auxiliary == "sein" else HABEN)[form], [verb.participle]
    return AUXILIARIES[clause.tense][form], [prefix + stem]


def adjunct(what: Adverb | Adjunct) -> list[str]:
    """Return an adverb, or a preposition with its phrase, contracted."""
    if isinstance(what, Adverb):
        return [what.german]
    return contract(what.german, phrase(what.phrase, what.case), article=what.phrase.determiner == "the")


def objects(clause: Clause) -> tuple[list[str], list[str]]:
    """Return the objects before the adverbials (what is known) and after them (what is new)."""
    early = phrase(clause.recipient, "dative") if clause.recipient else []
    if not clause.object or clause.gap == "object":
        return early, []
    preposition, case = government(clause.verb)
    words = decline(clause.object, case)
    if preposition:  # uncontracted: denkt an das Kind, träumt von dem Auto
        return early, [preposition, *words]
    return (early + words, []) if clause.object.definite else (early, words)


def middle(clause: Clause) -> list[str]:
    """Return the middle field after the subject: known objects, time, manner, place, new objects or goal."""
    early, late = objects(clause)
    words = [*early]
    if clause.time and not clause.front:
        words.append(clause.time.german)
    if clause.negated and not (clause.object and clause.object.determiner == "no"):  # kein negates by itself
        words.append("nicht")
    for part in (clause.manner, clause.place, clause.goal):
        words += adjunct(part) if part else []
    return [*words, *late, *([clause.state.german] if clause.state else [])]


def extraposed(clause: Clause) -> list[str]:
    """Return the relative clause of the object, which follows the whole clause rather than interrupt its verbs."""
    if not clause.object or not clause.object.relative:
        return []
    return [",", *relative(clause.object.relative, clause.object), ","]


def verb_first(clause: Clause) -> list[str]:
    """Return a clause that begins with its finite verb: a question, or what follows a filled first place."""
    finite, closing = verb_parts(clause)
    return [finite, *phrase(clause.subject, "nominative"), *middle(clause), *closing, *extraposed(clause)]


def verb_second(clause: Clause) -> list[str]:
    """Return a main clause; when the time stands in front, the subject follows the verb."""
    if clause.time and clause.front:
        return [clause.time.german, *verb_first(clause)]
    finite, closing = verb_parts(clause)
    return [*phrase(clause.subject, "nominative"), finite, *middle(clause), *closing, *extraposed(clause)]


def verb_final(clause: Clause) -> list[str]:
    """Return a subordinate clause: the finite verb is last, and joins its separable prefix."""
    finite, closing = verb_parts(clause)
    if clause.tense == "present" and closing:
        finite, closing = closing[0] + finite, []
    subject = [] if clause.gap == "subject" else phrase(clause.subject, "nominative")
    return [*subject, *middle(clause), *closing, finite, *extraposed(clause)]


def infinitive(clause: Clause) -> list[str]:
    """Return the clause without its subject, with zu before the infinitive or inside it: abzuholen."""
    prefix, stem = split(clause.verb)
    return [*middle(clause), *([f"{prefix}zu{stem}"] if prefix else ["zu", stem]), *extraposed(clause)]
