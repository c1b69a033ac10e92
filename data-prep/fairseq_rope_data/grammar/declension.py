"""German noun phrases: articles, adjective endings and nouns by gender, number and case."""

from .meaning import CASES, Phrase, Pronoun

GENDERS = "mfnp"  # masculine, feminine, neuter, plural
# Endings of der/dieser/jeder, which are also the strong adjective endings; one row a case, in the order of CASES.
STRONG = (("er", "e", "es", "e"), ("en", "e", "es", "e"), ("em", "er", "em", "en"))
WEAK = (("e", "e", "e", "en"), ("en", "e", "e", "en"), ("en", "en", "en", "en"))
ARTICLES = (("der", "die", "das", "die"), ("den", "die", "das", "die"), ("dem", "der", "dem", "den"))
# Relative pronouns are the articles, but for the dative plural.
RELATIVES = (*ARTICLES[:2], ("dem", "der", "dem", "denen"))
BARE = (("m", "nominative"), ("n", "nominative"), ("n", "accusative"))  # where ein, mein, kein take no ending
EIN_WORDS = {"a": "ein", "no": "kein", "my": "mein", "his": "sein", "her": "ihr", "our": "unser"}
DER_WORDS = {"this": "dies", "every": "jed"}
QUANTITIES = {"two": "zwei", "three": "drei"}
CONTRACTIONS = {
    ("in", "dem"): "im",
    ("in", "das"): "ins",
    ("an", "dem"): "am",
    ("zu", "dem"): "zum",
    ("zu", "der"): "zur",
}


def gender_of(what: Phrase) -> str:
    """Return the column of the tables: a gender, or p for plural."""
    return "p" if what.plural else what.noun.gender


def cell(table: tuple[tuple[str, ...], ...], gender: str, case: str) -> str:
    """Return the form for a gender and a case."""
    return table[CASES.index(case)][GENDERS.index(gender)]


def determiner(word: str, gender: str, case: str) -> str:
    """Return the German determiner for an English one, or "" for none."""
    if word == "the":
        return cell(ARTICLES, gender, case)
    if word in QUANTITIES:
        return QUANTITIES[word]
    if word == "many":
        return "viel" + cell(STRONG, gender, case)
    if word in DER_WORDS:
        return DER_WORDS[word] + cell(STRONG, gender, case)
    if word in EIN_WORDS:
        return EIN_WORDS[word] + ("" if (gender, case) in BARE else cell(STRONG, gender, case))
    return ""


def adjective_ending(word: str, gender: str, case: str) -> str:
    """Return the adjective's ending after a determiner: strong wherever that shows no ending itself."""
    shown = word == "the" or word in DER_WORDS or (word in EIN_WORDS and (gender, case) not in BARE)
    return cell(WEAK if shown else STRONG, gender, case)


def noun_form(what: Phrase, case: str) -> str:
    """Return the noun: plural with the dative -n, or singular with the -n of the weak masculines."""
    noun = what.noun
    if not what.plural:
        return noun.german if case == "nominative" else noun.oblique
    takes_n = case == "dative" and not noun.german_plural.endswith(("n", "s"))
    return noun.german_plural + ("n" if takes_n else "")


def decline(what: Phrase, case: str) -> list[str]:
    """Return the words of a phrase without its relative clause."""
    if isinstance(what.head, str):
        return [what.head]
    if isinstance(what.head, Pronoun):
        return [what.head.german[CASES.index(case)]]
    gender = gender_of(what)
    article = determiner(what.determiner, gender, case)
    words = [article] if article else []
    if what.adjective:
        words.append(what.adjective.stem + adjective_ending(what.determiner, gender, case))
    return [*words, noun_form(what, case)]


def contract(preposition: str, words: list[str], *, article: bool) -> list[str]:
    """Join a preposition and a definite article where German must: im, zur."""
    joined = CONTRACTIONS.get((preposition, words[0])) if article else None
    return [joined, *words[1:]] if joined else [preposition, *words]
