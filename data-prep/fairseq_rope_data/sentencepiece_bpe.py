"""Learn one sentencepiece BPE model from all files together, or split text with it, line by line, on all cores.

    python -m fairseq_rope_data.sentencepiece_bpe learn --pieces 37000 --model codes.model train.norm.en train.norm.de
    python -m fairseq_rope_data.sentencepiece_bpe apply --model codes.model train.norm.de >train.bpe.de

The model has --pieces pieces, among them <unk>, <s> and </s>. It learns from --sample lines drawn evenly from
all files, the same ones each time, so memory doesn't grow with the text. Characters that make up less than
0.05% of it (--character-coverage) get no piece: apply writes them as they are, and they enter fairseq's
dictionary as symbols of their own. No character is changed, unlike with sentencepiece's default of NFKC, which would
make references other than the text that the model learns: joining its pieces gives back each line that tokenize
writes, but for U+2581 in it, sentencepiece's own mark, which becomes a space.
"""

import argparse
import sys
from pathlib import Path

import sentencepiece

from fairseq_rope_data import cli, segmentation
from fairseq_rope_data.errors import UserError, run
from fairseq_rope_data.files import check_apart, complete_file, read_lines
from fairseq_rope_data.reservoir import Reservoir
from fairseq_rope_data.workers import add_arguments, filter_file

LONGEST = 4192  # bytes of a line, sentencepiece's default, which a model keeps


def learn(options: argparse.Namespace) -> None:
    """Write the model.

    Raises:
        UserError: a number breaks its rule, the model is one of the files, one of them cannot be read, has no text or
            isn't UTF-8, or sentencepiece cannot learn so many pieces from it.
    """
    for option in ("pieces", "sample"):
        if getattr(options, option) < 1:
            raise UserError(f"--{option} must be at least 1, but is {getattr(options, option)}")
    if not 0.98 <= options.character_coverage <= 1:  # sentencepiece's own limits
        raise UserError(f"--character-coverage must be in [0.98, 1], but is {options.character_coverage:g}")
    check_apart([options.model], options.files)
    with complete_file(options.model) as part:
        sample = draw(options.files, options.sample)
        longest = max(len(line.encode()) for line in sample.items)
        try:
            with part.open("wb") as model:
                sentencepiece.SentencePieceTrainer.train(
                    sentence_iterator=iter(sample.items),
                    model_writer=model,
                    model_type="bpe",
                    vocab_size=options.pieces,
                    character_coverage=options.character_coverage,
                    normalization_rule_name="identity",
                    max_sentence_length=max(LONGEST, longest),  # it leaves out longer ones in silence
                    minloglevel=2,
                )
        except RuntimeError as error:
            # after the place in its source code, in brackets
            problem = str(error).rpartition("] ")[2]
            raise UserError(f"sentencepiece cannot learn {options.pieces} pieces (--pieces): {problem}") from None
    print(f"sentencepiece_bpe: learned from {len(sample.items):,} of {sample.count:,} lines", file=sys.stderr)


def draw(files: list[Path], size: int) -> Reservoir[str]:
    """Draw lines with text from all files, and not by sentencepiece: it draws others each time.

    Raises:
        UserError: a file cannot be read, has no text or isn't UTF-8.
    """
    sample = Reservoir[str](size)
    for path in files:
        before = sample.count
        for line in read_lines(path):
            if line.strip():
                sample.add(line)
        if sample.count == before:
            raise UserError(f"{path} has no text")
    return sample


def apply(options: argparse.Namespace) -> None:
    """Write the text in pieces to stdout.

    Raises:
        UserError: the model or the text cannot be read.
    """
    try:
        model = sentencepiece.SentencePieceProcessor(model_file=str(options.model))
    except (OSError, RuntimeError) as error:
        raise UserError(f"--model {options.model} is no sentencepiece model: {error}") from None
    filter_file(segmentation.sentencepiece(model), options)


def main() -> None:
    parser = cli.parser(__doc__, "sentencepiece_bpe")
    commands = parser.add_subparsers(required=True, metavar="learn|apply")
    learner = commands.add_parser("learn", help="write --model from files")
    learner.set_defaults(command=learn)
    learner.add_argument("files", nargs="+", type=Path, metavar="FILE")
    learner.add_argument("--pieces", type=int, required=True, metavar="N")
    learner.add_argument("--sample", type=int, default=2_000_000, metavar="LINES")
    learner.add_argument("--character-coverage", type=float, default=0.9995, metavar="SHARE")
    applier = commands.add_parser("apply", help="write FILE in pieces to stdout")
    applier.set_defaults(command=apply)
    add_arguments(applier)
    for command in (learner, applier):
        command.add_argument("--model", type=Path, required=True, metavar="FILE")
    options = parser.parse_args()
    options.command(options)


if __name__ == "__main__":
    run("sentencepiece_bpe", main)
