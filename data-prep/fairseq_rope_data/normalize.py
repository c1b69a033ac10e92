"""Normalize punctuation and drop what doesn't print, before tokenization, in training text and in new text alike."""

from collections.abc import Callable

import regex
from sacremoses import MosesPunctNormalizer

# the categories Cc, Cf, Cs, Co and Cn of Unicode: control and format characters, and those without a meaning
_NON_PRINTING = regex.compile(r"\p{C}")


def normalizer(lang: str) -> Callable[[str], str]:
    r"""Return the function that does what Moses' normalize-punctuation.perl and remove-non-printing-char.perl do.

    Quotation marks, dashes, ellipses and no-break spaces take their ASCII form; a comma or full stop beside a closing
    quotation mark goes inside it in English and outside it in German, French and Spanish; a character that doesn't
    print becomes a space. Running it again can change a line again, as with the scripts: use it once.

    Args:
        lang: language of the text, as en or de. Of all but cs, de, en, es and fr, sacremoses leaves commas and full
            stops beside quotation marks where they are; the scripts treat them as German.

    Returns: a function from a line to a line, both without \n.
    """
    moses = MosesPunctNormalizer(lang=lang, perl_parity=True)

    def normalize(text: str) -> str:
        # the script sees the line's end too: one rule, for a full stop before a quotation mark, needs a character there
        punctuated: str = moses.normalize(f"{text}\n")
        return _NON_PRINTING.sub(" ", punctuated).strip()

    return normalize
