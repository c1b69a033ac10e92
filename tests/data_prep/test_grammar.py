"""The grammar against a German teacher: sentences translated by hand, and the declensions of the grammar books."""

from dataclasses import replace
from pathlib import Path

import pytest

from fairseq_rope_data.grammar import english, german, lexicon
from fairseq_rope_data.grammar.declension import decline
from fairseq_rope_data.grammar.dice import Dice
from fairseq_rope_data.grammar.lexicon import VERBS, adjective, adverb, noun, read_verbs, rows, verb
from fairseq_rope_data.grammar.meaning import HE, SHE, THEY, WE, Adjunct, Clause, I, Phrase
from fairseq_rope_data.grammar.text import spell


def the(word: str, determiner: str = "the", *, plural: bool = False, quality: str = "") -> Phrase:
    """Return a noun phrase."""
    return Phrase(noun(word), determiner, adjective(quality) if quality else None, plural)


def at(english_word: str, german_word: str, phrase: Phrase, case: str = "dative") -> Adjunct:
    """Return a place."""
    return Adjunct(english_word, german_word, case, phrase)


BUYS = Clause(the("woman"), verb("buy"), object=the("bread", ""), place=at("at", "auf", the("market")))
CALLS = Clause(the("man"), verb("call"), object=the("doctor"))
TRAVEL = Clause(
    Phrase("Anna"), verb("travel"), "past", goal=at("to", "zu", the("station")), manner=adverb("by car"),
    time=adverb("yesterday"),
)  # fmt: skip
GIVES = Clause(Phrase(HE), verb("give"), recipient=the("boy"), object=the("apple", "a", quality="fresh"))
OPENS = Clause(Phrase(SHE), verb("open"), object=the("window"), manner=adverb("carefully"))

HELPED = Clause(Phrase(SHE), verb("help"), "past", object=the("child"), gap="object")

# clause, English and German by hand
MAIN = [
    (BUYS, "The woman buys bread at the market.", "Die Frau kauft auf dem Markt Brot."),
    (
        replace(BUYS, time=adverb("every day"), front=True),
        "Every day the woman buys bread at the market.",
        "Jeden Tag kauft die Frau auf dem Markt Brot.",
    ),
    (CALLS, "The man calls the doctor.", "Der Mann ruft den Arzt an."),
    (replace(CALLS, tense="past"), "The man called the doctor.", "Der Mann hat den Arzt angerufen."),
    (replace(CALLS, tense="future"), "The man will call the doctor.", "Der Mann wird den Arzt anrufen."),
    (replace(CALLS, tense="want"), "The man wants to call the doctor.", "Der Mann will den Arzt anrufen."),
    (replace(CALLS, negated=True), "The man does not call the doctor.", "Der Mann ruft den Arzt nicht an."),
    (
        replace(CALLS, tense="can", negated=True, subject=Phrase(WE)),
        "We cannot call the doctor.",
        "Wir können den Arzt nicht anrufen.",
    ),
    # time, manner, place; in English place, manner, time
    (
        TRAVEL,
        "Anna travelled to the station by car yesterday.",
        "Anna ist gestern mit dem Auto zum Bahnhof gefahren.",
    ),
    (
        replace(TRAVEL, front=True, negated=True),
        "Yesterday Anna did not travel to the station by car.",
        "Gestern ist Anna nicht mit dem Auto zum Bahnhof gefahren.",
    ),
    (GIVES, "He gives the boy a fresh apple.", "Er gibt dem Jungen einen frischen Apfel."),
    (
        replace(GIVES, negated=True, tense="past", object=the("apple", "no", plural=True)),
        "He did not give the boy any apples.",
        "Er hat dem Jungen keine Äpfel gegeben.",
    ),
    (OPENS, "She opens the window carefully.", "Sie macht das Fenster vorsichtig auf."),
    (
        Clause(Phrase(I), verb("pick up"), "past", object=Phrase(HE), place=at("at", "an", the("station"))),
        "I picked him up at the station.",
        "Ich habe ihn am Bahnhof abgeholt.",
    ),
    (
        Clause(the("child", plural=True), verb("go"),
               goal=at("into", "in", the("house"), "accusative")),
        "The children go into the house.",
        "Die Kinder gehen ins Haus.",
    ),
    (
        Clause(Phrase(THEY), verb("be"), "past", True, state=adjective("tired")),
        "They were not tired.",
        "Sie waren nicht müde.",
    ),
    # relative clauses: who and whom in the cases der, den, dem, and with a preposition
    (
        Clause(replace(the("man"), relative=replace(CALLS, gap="subject")), verb("sleep")),
        "The man who calls the doctor sleeps.",
        "Der Mann, der den Arzt anruft, schläft.",
    ),
    (
        Clause(Phrase(I), verb("love"), object=replace(the("child", plural=True), relative=HELPED)),
        "I love the children whom she helped.",
        "Ich liebe die Kinder, denen sie geholfen hat.",
    ),
    (
        Clause(replace(the("train"), relative=Clause(Phrase(WE), verb("wait for"), object=the("train"), gap="object")),
               verb("be"), state=adjective("old")),
        "The train that we wait for is old.",
        "Der Zug, auf den wir warten, ist alt.",
    ),
]  # fmt: skip

FINAL = [
    (CALLS, "der Mann den Arzt anruft"),
    (replace(CALLS, tense="past"), "der Mann den Arzt angerufen hat"),
    (replace(CALLS, tense="must"), "der Mann den Arzt anrufen muss"),
    (TRAVEL, "Anna gestern mit dem Auto zum Bahnhof gefahren ist"),
    (replace(OPENS, negated=True, manner=None), "sie das Fenster nicht aufmacht"),
]

QUESTIONS = [
    (CALLS, "Does the man call the doctor?", "Ruft der Mann den Arzt an?"),
    (replace(TRAVEL, time=None, question=("when", "wann")),
     "When did Anna travel to the station by car?", "Wann ist Anna mit dem Auto zum Bahnhof gefahren?"),
    (Clause(the("girl"), verb("be"), state=adjective("happy")), "Is the girl happy?", "Ist das Mädchen glücklich?"),
]  # fmt: skip

# The paradigms of the grammar books: nominative, accusative, dative.
DECLENSION = [
    (the("man", quality="old"), "der alte Mann", "den alten Mann", "dem alten Mann"),
    (the("woman", quality="old"), "die alte Frau", "die alte Frau", "der alten Frau"),
    (the("book", quality="old"), "das alte Buch", "das alte Buch", "dem alten Buch"),
    (the("book", quality="old", plural=True), "die alten Bücher", "die alten Bücher", "den alten Büchern"),
    (the("man", "a", quality="old"), "ein alter Mann", "einen alten Mann", "einem alten Mann"),
    (the("woman", "her", quality="old"), "ihre alte Frau", "ihre alte Frau", "ihrer alten Frau"),
    (the("book", "no", quality="old"), "kein altes Buch", "kein altes Buch", "keinem alten Buch"),
    (the("book", "my", quality="old", plural=True), "meine alten Bücher", "meine alten Bücher", "meinen alten Büchern"),
    (the("coffee", "", quality="hot"), "heißer Kaffee", "heißen Kaffee", "heißem Kaffee"),
    (the("milk", "", quality="cold"), "kalte Milch", "kalte Milch", "kalter Milch"),
    (the("water", "", quality="cold"), "kaltes Wasser", "kaltes Wasser", "kaltem Wasser"),
    (the("car", "two", quality="expensive", plural=True), "zwei teure Autos", "zwei teure Autos", "zwei teuren Autos"),
    (the("child", "many", plural=True), "viele Kinder", "viele Kinder", "vielen Kindern"),
    (the("student", "this"), "dieser Student", "diesen Studenten", "diesem Studenten"),
    (the("room", "every", quality="dark"), "jedes dunkle Zimmer", "jedes dunkle Zimmer", "jedem dunklen Zimmer"),
]


@pytest.mark.parametrize(("clause", "source", "target"), MAIN)
def test_main_clauses_put_the_verb_second(clause: Clause, source: str, target: str) -> None:
    assert spell(english.statement(clause), ".") == source
    assert spell(german.verb_second(clause), ".") == target


@pytest.mark.parametrize(("clause", "expected"), FINAL)
def test_subordinate_clauses_put_the_verb_last_with_its_prefix(clause: Clause, expected: str) -> None:
    assert " ".join(german.verb_final(clause)) == expected


@pytest.mark.parametrize(("clause", "source", "target"), QUESTIONS)
def test_questions_begin_with_the_verb(clause: Clause, source: str, target: str) -> None:
    word = [clause.question[1]] if clause.question[1] else []
    assert spell(english.question(clause), "?") == source
    assert spell([*word, *german.verb_first(clause)], "?") == target


def test_the_infinitive_takes_zu_inside_after_a_separable_prefix() -> None:
    assert " ".join(german.infinitive(CALLS)) == "den Arzt anzurufen"
    assert " ".join(german.infinitive(BUYS)) == "auf dem Markt Brot zu kaufen"
    assert " ".join(english.infinitive(CALLS)) == "call the doctor"


@pytest.mark.parametrize(("phrase", "nominative", "accusative", "dative"), DECLENSION)
def test_phrases_decline_as_in_the_grammar_books(phrase: Phrase, nominative: str, accusative: str, dative: str) -> None:
    found = [" ".join(decline(phrase, case)) for case in ("nominative", "accusative", "dative")]
    assert found == [nominative, accusative, dative]


@pytest.mark.parametrize(
    ("base", "expected"),
    [("carry", "carries"), ("buy", "buys"), ("wash", "washes"), ("go out", "goes out"), ("pick up", "picks up")],
)
def test_the_third_person_is_spelt_as_english_spells_it(base: str, expected: str) -> None:
    assert english.third_person(base) == expected


def test_separable_verbs_keep_ge_between_prefix_and_stem_in_the_participle() -> None:
    for word in VERBS:
        prefix, _ = german.split(word)
        ge = "" if word.german.endswith("ieren") else "ge"
        assert word.participle.startswith(prefix + (ge if prefix else "")), word.german


def test_english_words_have_one_german_word_each() -> None:
    bases = [word.english for word in VERBS]
    assert len(set(bases)) == len(bases)
    forms = [form for word in VERBS for form in (word.english, word.past)]
    assert len(set(forms)) == len(forms)


def test_a_verb_whose_past_is_its_base_is_refused(tmp_path: Path) -> None:
    table = tmp_path / "verbs.tsv"
    cells = "read\tread\tlesen\tlese\tliest\tgelesen\thaben\tacc\tperson\ttext\t-\t-\tevent"
    header = Path(lexicon.__file__).with_name("verbs.tsv").read_text("utf-8").splitlines()[0]
    table.write_text(f"{header}\n{cells}\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"verbs\.tsv:2: a verb's past must differ from its base, but both are 'read'"):
        read_verbs(table)


def test_a_line_with_a_missing_cell_names_its_path_and_line(tmp_path: Path) -> None:
    table = tmp_path / "nouns.tsv"
    table.write_text("english\tgerman\ndog\tHund\ncat\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"nouns\.tsv:3: expected 2 cells, but found 1"):
        list(rows(table))


def test_dice_follow_their_weights_and_a_shuffle_keeps_all_items() -> None:
    dice = Dice(1)
    drawn = [dice.weighted([("often", 3), ("seldom", 1)]) for _ in range(4_000)]
    assert 2_900 < drawn.count("often") < 3_100
    items = list(range(50))
    dice.shuffle(items)
    assert items != sorted(items) == list(range(50))
