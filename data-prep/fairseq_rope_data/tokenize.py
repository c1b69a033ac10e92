"""Make raw text ready for BPE, line by line, on all cores: normalize, lower-case and tokenize with the Moses rules.

The tokenizer is fairseq's `--tokenizer moses` with its options and defaults (dashes split, characters escaped), so that
training text and what fairseq-interactive or tools.translate make of new text are the same; tools.translate has
`--normalize` and `--lowercase` too. One line comes out for each that goes in.

    python -m fairseq_rope_data.tokenize --lang de train.de >train.tok.de
    python -m fairseq_rope_data.tokenize --lang de --normalize --tokenizer none <train.de >train.norm.de
"""

import argparse
import sys

from sacremoses import MosesTokenizer
from sacremoses.corpus import NonbreakingPrefixes

from fairseq_rope_data import cli
from fairseq_rope_data.errors import run
from fairseq_rope_data.normalize import normalizer
from fairseq_rope_data.segmentation import moses, segmenter
from fairseq_rope_data.workers import LineFunction, add_arguments, filter_file


def line_function(options: argparse.Namespace) -> LineFunction:
    """Return what the options make of a line."""
    tokenize: LineFunction = str
    if options.tokenizer == "moses":
        if options.lang not in NonbreakingPrefixes().available_langs:
            print(f"tokenize: abbreviations of {options.lang} are unknown, those of en are used", file=sys.stderr)
        tokenize = moses(
            MosesTokenizer(options.lang),
            dash_splits=not options.moses_no_dash_splits,
            escape=not options.moses_no_escape,
        )
    normalize = normalizer(options.lang) if options.normalize else str
    return segmenter(normalize=normalize, lowercase=options.lowercase, tokenize=tokenize)


def main() -> None:
    parser = cli.parser(__doc__, "tokenize")
    add = parser.add_argument
    add("--lang", required=True, help="language of the text, as en or de")
    add("--normalize", "--normalise", action="store_true", help="normalize punctuation, drop what does not print")
    add("--lowercase", action="store_true", help="lower-case before tokenizing")
    add("--tokenizer", choices=("moses", "none"), default="moses", help="none: for sentencepiece")
    add("--moses-no-dash-splits", action="store_true", help="keep schwarz-weiß one token, as the papers do")
    add("--moses-no-escape", action="store_true", help="keep ' and others, which default to &apos; ...")
    add_arguments(parser)
    options = parser.parse_args()
    filter_file(line_function(options), options)


if __name__ == "__main__":
    run("tokenize", main)
