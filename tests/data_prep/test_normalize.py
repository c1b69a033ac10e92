"""normalize: what Moses' scripts normalize-punctuation.perl and remove-non-printing-char.perl give."""

import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sacremoses import MosesPunctNormalizer

from fairseq_rope_data.normalize import normalizer

NBSP, ZERO_WIDTH, SOFT_HYPHEN = "\u00a0", "\u200b", "\u00ad"

# by hand from the scripts' rules: language, text, what they make of it
CASES = [
    # commas and full stops: inside the quotation marks in English, outside in German, French and Spanish
    ("en", "He says “no”, and “yes”.", 'He says "no," and "yes."'),
    ("de", "Er sagt „nein,“ und „ja.“ Dann", 'Er sagt "nein", und "ja". Dann'),
    ("de", "Er sagt „ja.“", 'Er sagt "ja".'),
    ("fr", f"Il dit «{NBSP}non,{NBSP}» oui", 'Il dit "non", oui'),
    ("cs", "Říká „ne,“ a „ano“.", 'Říká "ne," a "ano".'),
    # a no-break space between digits is the language's separator of thousands
    ("en", f"10{NBSP}000", "10.000"),
    ("de", f"10{NBSP}000", "10,000"),
    ("en", f"20{NBSP}% , 5 % and nº{NBSP}3", "20% , 5% and nº 3"),
    # dashes, apostrophes, ellipses, French quotation marks, brackets
    ("en", "1990–95 — the dog’s ‘end’ … wait", "1990-95 - the dog's 'end\" ... wait"),
    ("en", f"«{NBSP}so{NBSP}» and »so«", '"so" and "so"'),
    ("en", "a( b )c `d' ''e''", "a (b) c 'd' \" e \""),
    # what doesn't print is a space
    ("de", f"ein{ZERO_WIDTH}s z{SOFT_HYPHEN}wei\x07drei\ue000vier", "ein s z wei drei vier"),
    ("de", f"\ufeff {ZERO_WIDTH}", ""),
]


@pytest.mark.parametrize(("lang", "text", "expected"), CASES, ids=[f"{i} {case[0]}" for i, case in enumerate(CASES)])
def test_marks_take_the_form_that_the_scripts_give_them(lang: str, text: str, expected: str) -> None:
    assert normalizer(lang)(text) == expected


# assigned characters only: Python's and regex's versions of Unicode differ in others
texts = st.text(st.characters(exclude_categories=["Cs", "Cn"], exclude_characters="\n"), max_size=40)


@settings(max_examples=200, deadline=None)
@given(texts)
def test_no_control_or_format_character_and_no_outer_space_is_left(text: str) -> None:
    normal = normalizer("de")(text)
    assert not [char for char in normal if unicodedata.category(char)[0] == "C"]
    assert normal == normal.strip()


printing = st.characters(exclude_categories=["C", "Z"]) | st.sampled_from(" \u00a0.,\"'“”„’«»()%…–:;-01")


@pytest.mark.parametrize("lang", ["en", "de", "fr", "cs", "ru"])
@settings(max_examples=100, deadline=None)
@given(text=st.text(printing, max_size=40))
def test_text_that_prints_is_what_sacremoses_makes_of_the_line_with_its_end(lang: str, text: str) -> None:
    moses = MosesPunctNormalizer(lang=lang, perl_parity=True)
    assert normalizer(lang)(text) == moses.normalize(text + "\n")
