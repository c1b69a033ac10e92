"""Score a fine-tuned model: its predictions, and accuracy, F1, Matthews, Pearson or Spearman with bootstrap intervals.

    python -m fairseq_rope.tools.classify --path checkpoint_best.pt --data data-bin --output predictions.tsv
    python -m fairseq_rope.tools.classify --path checkpoint_best.pt --data data-bin --subset test --glue SST-2 \
        --submission submission
    python -m fairseq_rope.tools.classify --baseline bag-of-words --text raw --subset valid

The model is of fairseq's task sentence_prediction, of classes or a number, or sentence_ranking, and DATA is its folder
with input0, perhaps input1 and more, and label. Scores are in percent, each with the 95% interval over resampled
examples: the noise of the test set. --output has a line for each example in the order of the text: number, label,
prediction, probability. Without labels there are predictions alone.

--glue takes the scores that GLUE has for the task, the one that counts first; the classes must be the task's labels,
in any order. With --submission the predictions are written as GLUE wants them, under its name in the folder: of the
subset test, and of MNLI test1, the mismatched one, and test2, the diagnostic set.

--baseline predicts without a network from a folder that fairseq_rope_data.glue or scm wrote: what a model must beat.
--pretrained prints the options of fairseq-train that fine-tune a checkpoint of masked_lm, once it fits; nothing, with
--allow other-length, where its positions are a table of another length.
"""

import argparse
import shlex
from dataclasses import replace
from pathlib import Path

from fairseq_rope.checkpoints.data_folder import check_no_colon
from fairseq_rope.compat.chatter import silence_libraries
from fairseq_rope.experiments.predict import Classifier
from fairseq_rope.experiments.pretrained import OtherLengthError, fine_tuning_words
from fairseq_rope.experiments.submission import check_labels, check_submission, write_submission
from fairseq_rope.experiments.text_baselines import BASELINES, baseline_predictions
from fairseq_rope.scoring.classification import METRICS, check_metrics
from fairseq_rope.scoring.prediction_report import report_on
from fairseq_rope.scoring.predictions import Predictions, write_predictions
from fairseq_rope.scoring.report_file import report_json, report_text
from fairseq_rope_data import cli
from fairseq_rope_data.errors import UserError, run
from fairseq_rope_data.files import check_apart, check_can_be_written
from fairseq_rope_data.glue_tasks import TASKS

PACKAGES = ("scikit-learn", "scipy")


def main() -> None:
    silence_libraries()
    args = _parser().parse_args()
    _check(args)
    if args.pretrained is not None:
        _print_options(args)
        return
    metrics = args.metrics or (TASKS[args.glue].metrics if args.glue else ())
    found, notes = _predictions(args, metrics)
    report = report_on(found, metrics)
    report.notes = notes + report.notes
    if args.submission is not None:
        report.notes.append(f"wrote {write_submission(found, args.glue, args.subset, args.submission)}")
    if args.output is not None:
        write_predictions(found, args.output)
    print(report_json(report, PACKAGES) if args.json else report_text(report))


def _print_options(args: argparse.Namespace) -> None:
    try:
        print(shlex.join(fine_tuning_words(args.pretrained, args.dictionary, length=args.length)))
    except OtherLengthError:
        if args.allow is None:
            raise


def _predictions(args: argparse.Namespace, metrics: tuple[str, ...]) -> tuple[Predictions, list[str]]:
    notes: list[str] = []
    if args.baseline:
        found = baseline_predictions(args.baseline, args.text, args.subset)
        _check_fit(args, metrics, found.classes)
    else:
        check_no_colon("--data", str(args.data))
        classifier = Classifier(str(args.path), str(args.data), cpu=args.cpu)
        _check_fit(args, metrics, classifier.classes)  # before minutes are spent
        found, notes = classifier.predict(args.subset, max_tokens=args.max_tokens)
    if args.glue:
        # the second label of the task is the positive one, in whatever order the dictionary has them
        found = replace(found, classes=TASKS[args.glue].labels)
    return found, notes


def _check_fit(args: argparse.Namespace, metrics: tuple[str, ...], classes: tuple[str, ...]) -> None:
    """Check that scores, task and submission are of these classes."""
    if args.submission is not None:
        check_submission(args.glue, args.subset, classes)
    if args.glue:
        check_labels(args.glue, classes)
    check_metrics(metrics, classes)


def _check(args: argparse.Namespace) -> None:
    """Check that options that need each other are given."""
    needs = {"path": "data", "baseline": "text", "pretrained": "dictionary", "submission": "glue"}
    for name, other in needs.items():
        if getattr(args, name) is not None and getattr(args, other) is None:
            raise UserError(f"--{name} needs --{other}")
    if args.max_tokens < 1:
        raise UserError(f"--max-tokens must be at least 1, but is {args.max_tokens}")
    if args.length < 1:
        raise UserError(f"--length must be at least 1, but is {args.length}")
    # before a model is loaded, or what it predicts in minutes would be lost
    if args.submission is not None and args.submission.exists() and not args.submission.is_dir():
        raise UserError(f"--submission must be a folder, but {args.submission} is a file")
    if args.output is not None and args.pretrained is None:
        check_apart([args.output], _read_files(args))
        check_can_be_written(args.output)


def _read_files(args: argparse.Namespace) -> list[Path]:
    """Return what predictions are made of: a folder of --data is a column, those of --text are side by side."""
    if args.path:
        return [args.path, *args.data.glob("*/*")]
    return [file for pattern in ("*.input*", "*.label", "labels.txt") for file in args.text.glob(pattern)]


def _parser() -> argparse.ArgumentParser:
    parser = cli.parser(__doc__, "classify")
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--path", type=Path, metavar="FILE", help="checkpoint of a fine-tuned model")
    what.add_argument(
        "--baseline", choices=BASELINES, help="; ".join(f"{key}: {is_}" for key, is_ in BASELINES.items())
    )
    what.add_argument("--pretrained", type=Path, metavar="FILE", help="checkpoint of masked_lm, to be fine-tuned")
    add = parser.add_argument
    add("--data", type=Path, metavar="DATA", help="folder with input0, label and others, of fairseq-preprocess")
    add("--text", type=Path, metavar="DIR", help="of --baseline: the folder that fairseq_rope_data.glue or scm wrote")
    add("--subset", default="valid", metavar="NAME", help="valid, valid1, test ... (default: valid)")
    add("--metrics", nargs="+", choices=METRICS, help="the scores (default: all that fit)")
    add("--glue", choices=TASKS, metavar="TASK", help=f"a task of GLUE, for its scores and names: {', '.join(TASKS)}")
    add("--submission", type=Path, metavar="DIR", help="write the predictions there as GLUE wants them")
    add("--output", type=Path, metavar="FILE", help="write the predictions, tab-separated")
    add("--max-tokens", type=int, default=4096, metavar="N", help="of a batch, with its padding (default: 4096)")
    add("--cpu", action="store_true", help="use no GPU")
    add("--dictionary", type=Path, metavar="FILE", help="of --pretrained: dict.txt of its vocabulary")
    add("--length", type=int, default=512, metavar="N", help="of --pretrained: tokens of an example (default: 512)")
    add("--allow", choices=("other-length",), help="of --pretrained: print nothing for such a table of positions")
    add("--json", action="store_true", help="print one JSON object")
    return parser


if __name__ == "__main__":
    run("classify", main)
