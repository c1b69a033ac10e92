"""Draw an experiment's models into one picture (needs the extra `plot`): learning curves, or scores over lengths.

    python -m fairseq_rope.tools.plot runs/quickstart --output learning_curves.png
    python -m fairseq_rope.tools.plot runs/windows --windows test --source-lang en --output lengths.png
    python -m fairseq_rope.tools.plot runs/mlm --lengths valid --output lengths.png

Learning curves are the validation loss over updates, a color for each model, and beside it BLEU of the validation set
where trainings log it.
--windows SET draws BLEU of that test set, alone and in windows of several sentences, over their mean length by that of
the longest training example: means over seeds with standard deviations. Lengths are tokens of WORK/text, in BPE.
--lengths SET draws the bits of masked tokens, over the length of blocks by that of training, in the same way.
Below the name of the picture stands a note on each run or score that it leaves out.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

from fairseq_rope.experiments.block_curves import block_curves
from fairseq_rope.experiments.curves import draw_curves
from fairseq_rope.experiments.figure import check_picture
from fairseq_rope.experiments.length_curves import curve_notes, length_curves
from fairseq_rope.experiments.length_figure import draw_length_curves
from fairseq_rope.experiments.train_log import read_train_log
from fairseq_rope.experiments.work_folder import TRAINED, Model, find_models, is_trained, validated_models
from fairseq_rope_data import cli
from fairseq_rope_data.errors import UserError, run


def main() -> None:
    parser = cli.parser(__doc__, "plot")
    parser.add_argument("work", type=Path, metavar="WORK", help="work folder of a recipe")
    parser.add_argument("--output", type=Path, required=True, metavar="PNG", help="the picture to write")
    parser.add_argument("--models", nargs="+", default=(), metavar="NAME", help="as in results")
    parser.add_argument("--windows", metavar="SET", help="draw the scores of this test set over lengths")
    parser.add_argument("--source-lang", metavar="LANG", help="with --windows: the language whose lengths count")
    parser.add_argument("--lengths", metavar="SET", help="draw the bits of this text over the length of its blocks")
    args = parser.parse_args()
    if args.lengths is not None and args.windows is not None:
        raise UserError("--lengths and --windows exclude each other")
    if (args.windows is None) != (args.source_lang is None):
        raise UserError("--windows and --source-lang go together")
    check_picture(args.output)
    models = find_models(args.work, args.models)
    if args.lengths is not None:
        notes = _draw_blocks(models, args)
    elif args.windows is not None:
        notes = _draw_windows(models, args)
    else:
        notes = _draw_learning(models, args)
    print("\n".join([f"wrote {args.output}", *notes]))


def _draw_learning(models: Sequence[Model], args: argparse.Namespace) -> list[str]:
    """Draw learning curves, and return notes on what is left out."""
    models, notes = validated_models(models)
    logs = {
        model.title: [read_train_log(folder / TRAINED) for folder in model.runs.values() if is_trained(folder)]
        for model in models
    }
    if not any(logs.values()):
        raise UserError("\n".join([f"{args.work} has no learning curve: no model in it was trained", *notes]))
    draw_curves(logs, args.output)
    return notes


def _draw_windows(models: Sequence[Model], args: argparse.Namespace) -> list[str]:
    """Draw BLEU over the length of windows, and return notes on what is left out."""
    models, notes = validated_models(models)
    curves = length_curves(args.work, models, args.windows, args.source_lang)
    if not any(curves.values()):
        names = f"score-{args.windows}.json or score-{args.windows}-wSIZE.json"
        raise UserError(f"--windows {args.windows}: {args.work} has no BLEU of that test set in {names}")
    draw_length_curves(curves, args.output, score=f"BLEU of {args.windows}")
    return notes + curve_notes(curves, "sentences")


def _draw_blocks(models: Sequence[Model], args: argparse.Namespace) -> list[str]:
    """Draw bits over the length of blocks, and return notes on what is left out."""
    curves = block_curves(models, args.lengths)
    if not any(curves.values()):
        raise UserError(f"--lengths {args.lengths}: {args.work} has no score-{args.lengths}-LENGTH.json of blocks")
    draw_length_curves(curves, args.output, score=f"bits a masked token, {args.lengths}", unit="tokens")
    return curve_notes(curves, "tokens")


if __name__ == "__main__":
    run("plot", main)
