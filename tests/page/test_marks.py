"""Words of two translations that differ: nothing is lost, and what is not marked is the same in both."""

from hypothesis import given
from hypothesis import strategies as st

from fairseq_rope.page.marks import marked

TEXTS = st.lists(st.sampled_from(["ein", "der", "Hund", "Haus", "<b>", "&", "läuft"]), max_size=12).map(" ".join)


@given(TEXTS, TEXTS)
def test_pieces_are_all_words_in_order_and_unmarked_ones_are_common(one: str, other: str):
    ours, theirs = marked(one, other)
    assert " ".join(text for text, _ in ours) == one and " ".join(text for text, _ in theirs) == other
    same = [" ".join(text for text, differs in pieces if not differs) for pieces in (ours, theirs)]
    assert same[0] == same[1]


@given(TEXTS)
def test_nothing_is_marked_in_equal_translations(text: str):
    assert marked(text, text) == (([(text, False)],) * 2 if text else ([], []))


def test_a_changed_an_added_and_a_dropped_word_are_marked():
    ours, theirs = marked("der Hund läuft schnell", "ein Hund läuft")
    assert ours == [("der", True), ("Hund läuft", False), ("schnell", True)]
    assert theirs == [("ein", True), ("Hund läuft", False)]


def test_frequent_words_of_long_sentences_are_compared_too():
    # difflib leaves out what stands in more than 1% of 200 words or more, unless it is told not to
    words = ["und"] * 300
    ours, theirs = marked(" ".join(words), " ".join(["oder", *words]))
    assert ours == [(" ".join(words), False)] and theirs[0] == ("oder", True)
