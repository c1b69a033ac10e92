"""What shows that a line is no raw text, which scores are made with."""

import re
from pathlib import Path

from fairseq_rope_data.errors import UserError
from fairseq_rope_data.files import read_lines

LOG_LINE = re.compile(r"[STHDP]-\d+\t")  # of fairseq-generate
SPLIT_HYPHEN = re.compile(r"##AT##-##AT##|(?<!\S)@-@(?!\S)")
# target languages whose compounds are written with hyphens, and whose papers report BLEU with these split
COMPOUND_LANGUAGES = ("de",)


def check_references(path: Path, lang: str) -> None:
    """Check that a file in the language `lang`, such as de or de_AT, can be the references of a test set.

    Raises:
        UserError: a line is of a log, or has hyphens that are split already; or the file cannot be read.
    """
    has_compounds = re.split("[_-]", lang.lower())[0] in COMPOUND_LANGUAGES
    for number, line in enumerate(read_lines(path), 1):
        if LOG_LINE.match(line) or (has_compounds and SPLIT_HYPHEN.search(line)):
            raise UserError(f"{path}:{number} is no raw text, which scores are made with: {line}")
