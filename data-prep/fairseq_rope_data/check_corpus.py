"""Check parallel text before hours are spent on it: both sides are there, UTF-8, aligned, not empty, equal or swapped.

It prints the number of pairs of each corpus.

Sides count as swapped when a sample of the source reads like the target language to py3langid, out of all that it
knows, and a sample of the target like the source language: two mistakes at once, which noise and mixed text don't make.
Languages that it doesn't know are told on stderr and not compared; near ones, as Croatian and Serbian, can be
taken for each other: --any-language leaves the comparison out.

    python -m fairseq_rope_data.check_corpus --source-lang en --target-lang de raw/train raw/valid raw/test
"""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from fairseq_rope_data import cli
from fairseq_rope_data.errors import UserError, run
from fairseq_rope_data.parallel import Pair, add_languages, languages, pairs
from fairseq_rope_data.raw_text import check_references
from fairseq_rope_data.reservoir import Reservoir

if TYPE_CHECKING:
    from py3langid.langid import LanguageIdentifier

SAMPLE = 200  # pairs; of ordinary text ten are enough


def looks_swapped(sample: list[Pair], langs: tuple[str, str], identifier: "LanguageIdentifier") -> bool:
    """Return whether each side reads like the other's language."""
    sides = (" ".join(pair[side] for pair in sample) for side in (0, 1))
    return tuple(identifier.classify(side)[0] for side in sides) == langs[::-1]


def check(prefix: str, langs: tuple[str, str], identifier: "LanguageIdentifier | None") -> int:
    """Check one corpus and return its number of pairs.

    Raises:
        UserError: it breaks a rule; the text names file and line.
    """
    source, target = (Path(f"{prefix}.{lang}") for lang in langs)
    sample = Reservoir[Pair](SAMPLE)
    has_text, all_equal = False, True
    for pair in pairs(source, target):
        sample.add(pair)
        has_text = has_text or all(line.strip() for line in pair)
        all_equal = all_equal and pair[0] == pair[1]
    if not has_text:
        raise UserError(f"{source} and {target} have no pair with text on both sides, of {sample.count:,}")
    if all_equal:
        raise UserError(f"{source} and {target} are the same text")
    if identifier is not None and looks_swapped(sample.items, langs, identifier):
        raise UserError(
            f"{source} and {target} look swapped: the first reads like {langs[1]}, the second like {langs[0]}; "
            "--any-language leaves this check out"
        )
    return sample.count


def load_identifier() -> "LanguageIdentifier":
    """Return what tells languages apart.

    Raises:
        UserError: py3langid is not installed.
    """
    try:
        from py3langid.langid import MODEL_FILE, LanguageIdentifier
    except ImportError:
        raise UserError("to tell languages apart needs py3langid: pip install 'fairseq-rope[data]'") from None
    return LanguageIdentifier.from_model_file(MODEL_FILE)


def main() -> None:
    parser = cli.parser(__doc__, "check_corpus")
    parser.add_argument("prefixes", nargs="+", metavar="PREFIX", help="a corpus: its files' path without .LANG")
    add_languages(parser)
    parser.add_argument("--any-language", action="store_true", help="don't ask whether the sides look swapped")
    parser.add_argument(
        "--references", action="store_true", help="the target side is what scores are made with: raw text"
    )
    options = parser.parse_args()
    langs = languages(options)
    identifier = None if options.any_language else load_identifier()
    unknown = [] if identifier is None else [name for name in langs if name not in identifier.labels]
    if unknown:
        names = ", ".join(unknown)
        print(f"check_corpus: not checked for swapped sides: {names} is no known language", file=sys.stderr)
    for prefix in options.prefixes:
        pairs_there = check(prefix, langs, identifier)
        if options.references:
            check_references(Path(f"{prefix}.{langs[1]}"), langs[1])
        print(f"{prefix}: {pairs_there:,} pairs")


if __name__ == "__main__":
    run("check_corpus", main)
