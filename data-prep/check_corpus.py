"""Check parallel text before hours are spent on it: both sides are there, UTF-8, aligned, not empty, equal or swapped.

Sides count as swapped when a sample of the source reads like the target language to py3langid, out of all that it
knows, and a sample of the target like the source language: two mistakes at once, which noise and mixed text don't make.
Languages that it doesn't know are told on stderr and not compared; near ones, as Croatian and Serbian, can be
taken for each other: --any-language leaves the comparison out.

    python data-prep/check_corpus.py --source-lang en --target-lang de raw/train raw/valid raw/test
"""

import argparse
import sys
from pathlib import Path

from aligned import Pair, pairs
from py3langid.langid import MODEL_FILE, LanguageIdentifier
from reservoir import Reservoir
from textio import DataError, refuse_html, run

SAMPLE = 200  # pairs; of ordinary text ten are enough


def looks_swapped(sample: list[Pair], languages: tuple[str, str], identifier: LanguageIdentifier) -> bool:
    """Tell whether each side reads like the other's language."""
    sides = (" ".join(pair[side] for pair in sample) for side in (0, 1))
    return tuple(identifier.classify(side)[0] for side in sides) == languages[::-1]


def check(prefix: str, languages: tuple[str, str], identifier: LanguageIdentifier | None) -> int:
    """Check one corpus and return its number of pairs.

    Raises:
        DataError: it breaks a rule; the text names file and line.
    """
    source, target = (Path(f"{prefix}.{language}") for language in languages)
    for path in (source, target):
        refuse_html(path)
        if path.stat().st_size == 0:
            raise DataError(f"{path} is empty")
    sample = Reservoir[Pair](SAMPLE)
    all_equal = True
    for pair in pairs(source, target):
        sample.add(pair)
        all_equal = all_equal and pair[0] == pair[1]
    if all_equal:
        raise DataError(f"{source} and {target} are the same text")
    if identifier is not None and looks_swapped(sample.items, languages, identifier):
        raise DataError(
            f"{source} and {target} look swapped: the first reads like {languages[1]}, the second like {languages[0]}; "
            "--any-language leaves this check out"
        )
    return sample.count


def main() -> None:
    """Read the options, then each corpus."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("prefixes", nargs="+", metavar="PREFIX", help="a corpus: its files' path without .LANG")
    parser.add_argument("--source-lang", required=True)
    parser.add_argument("--target-lang", required=True)
    parser.add_argument("--any-language", action="store_true", help="don't ask whether the sides look swapped")
    options = parser.parse_args()
    languages = (options.source_lang, options.target_lang)
    if languages[0] == languages[1]:
        raise DataError(f"--source-lang and --target-lang must differ, but are both {languages[0]}")
    identifier = None if options.any_language else LanguageIdentifier.from_model_file(MODEL_FILE)
    unknown = [] if identifier is None else [name for name in languages if name not in identifier.labels]
    if unknown:
        print(
            f"check_corpus.py: not checked for swapped sides: {', '.join(unknown)} is no known language",
            file=sys.stderr,
        )
        identifier = None
    for prefix in options.prefixes:
        count = check(prefix, languages, identifier)
        print(f"{prefix}: {count:,} pairs", file=sys.stderr)


if __name__ == "__main__":
    run("check_corpus.py", main)
