"""Make raw text ready for BPE, line by line, on all cores: normalise, lower-case and tokenise with the Moses rules.

The tokeniser is fairseq's `--tokenizer moses` with its options and defaults (dashes split, characters escaped), so that
training text and what fairseq-interactive or tools.translate make of new text are the same; tools.translate has
`--normalise` and `--lowercase` too. One line comes out for each that goes in.

    python -m fairseq_rope_data.tokenize --lang de train.de >train.tok.de
    python -m fairseq_rope_data.tokenize --lang de --normalise --tokenizer none <train.de >train.norm.de
"""

import argparse
import functools
import sys

from sacremoses import MosesTokenizer
from sacremoses.corpus import NonbreakingPrefixes

from fairseq_rope_data.errors import run
from fairseq_rope_data.normalize import normalizer
from fairseq_rope_data.workers import LineFunction, add_arguments, filter_file


def line_function(options: argparse.Namespace) -> LineFunction:
    """Choose what happens to each line."""
    normalise: LineFunction = str
    tokenise: LineFunction = str
    if options.normalise:
        normalise = normalizer(options.lang)
    if options.tokenizer == "moses":
        if options.lang not in NonbreakingPrefixes().available_langs:
            print(f"tokenize: abbreviations of {options.lang} are unknown, those of en are used", file=sys.stderr)
        tokenise = functools.partial(
            MosesTokenizer(options.lang).tokenize,
            return_str=True,
            aggressive_dash_splits=not options.moses_no_dash_splits,
            escape=not options.moses_no_escape,
        )

    def prepare(line: str) -> str:
        # what Unicode or Python calls a line break or a space becomes a space, but not before normalisation, which
        # tells a no-break space from others
        text = " ".join(normalise(line).split())
        return tokenise(text.lower() if options.lowercase else text)

    return prepare


def main() -> None:
    """Read the options, then the text."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lang", required=True, help="language of the text, as en or de")
    parser.add_argument("--normalise", action="store_true", help="normalise punctuation, drop what does not print")
    parser.add_argument("--lowercase", action="store_true", help="lower-case before tokenising")
    parser.add_argument("--tokenizer", choices=("moses", "none"), default="moses", help="none: for sentencepiece")
    parser.add_argument(
        "--moses-no-dash-splits", action="store_true", help="keep schwarz-weiß one token, as the papers do"
    )
    parser.add_argument("--moses-no-escape", action="store_true", help="keep ' and others, which default to &apos; ...")
    add_arguments(parser)
    options = parser.parse_args()
    filter_file(line_function(options), options)


if __name__ == "__main__":
    run("tokenize", main)
