"""What is said, before a language says it: phrases and clauses, shared by English and German."""

from dataclasses import dataclass, field

from .lexicon import Adjective, Adverb, Noun, Verb

INDEFINITE = ("a", "", "no", "two", "three", "many")
CASES = ("nominative", "accusative", "dative")


@dataclass(frozen=True)
class Pronoun:
    """A personal pronoun; `person` 1 or 3. The German forms follow the order of CASES."""

    subject: str
    object: str
    german: tuple[str, str, str]
    person: int
    plural: bool


I = Pronoun("I", "me", ("ich", "mich", "mir"), 1, False)  # noqa: E741
HE = Pronoun("he", "him", ("er", "ihn", "ihm"), 3, False)
SHE = Pronoun("she", "her", ("sie", "sie", "ihr"), 3, False)
IT = Pronoun("it", "it", ("es", "es", "ihm"), 3, False)
WE = Pronoun("we", "us", ("wir", "uns", "uns"), 1, True)
THEY = Pronoun("they", "them", ("sie", "sie", "ihnen"), 3, True)


@dataclass(frozen=True)
class Phrase:
    """A noun, a pronoun or a name, with what belongs to it.

    `determiner` is the English singular, "" for none; "no" is the negated a or any, in German kein.
    """

    head: Noun | Pronoun | str
    determiner: str = ""
    adjective: Adjective | None = None
    plural: bool = False
    relative: "Clause | None" = None

    @property
    def noun(self) -> Noun:
        """The head, where it can only be a noun.

        Raises:
            TypeError: it is another word.
        """
        if not isinstance(self.head, Noun):
            raise TypeError(f"the head of the phrase must be a noun, but is {self.head}")
        return self.head

    @property
    def definite(self) -> bool:
        """Whether German places it early in the middle field."""
        return not isinstance(self.head, Noun) or self.determiner not in INDEFINITE


@dataclass(frozen=True)
class Adjunct:
    """A preposition in both languages, the German case that it governs, and its noun phrase."""

    english: str
    german: str
    case: str
    phrase: Phrase


@dataclass(frozen=True)
class Clause:
    """One verb with its arguments and adverbials.

    `tense` is past, present, future or an English modal verb. `gap` names the argument that a relative pronoun stands
    for: subject or object. `front` puts the time first. `question` is a question word, English and German, or ("", "").
    """

    subject: Phrase
    verb: Verb
    tense: str = "present"
    negated: bool = False
    recipient: Phrase | None = None
    object: Phrase | None = None
    state: Adjective | None = None
    goal: Adjunct | None = None
    place: Adjunct | None = None
    manner: Adverb | Adjunct | None = None
    time: Adverb | None = None
    front: bool = False
    gap: str = ""
    question: tuple[str, str] = field(default=("", ""))
