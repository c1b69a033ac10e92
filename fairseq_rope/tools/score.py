"""Score a translation: fairseq's own tokenized BLEU4, and detokenized sacreBLEU BLEU and chrF with signatures.

python -m fairseq_rope.tools.score --log generate-test.txt --target-lang de
python -m fairseq_rope.tools.score --sys hyps.tok --ref refs.tok --target-lang de --ref-raw refs.txt
python -m fairseq_rope.tools.score --sys hyps.txt --ref refs.txt --detokenized

BLEU4 takes the tokens as they stand, BPE and all, as fairseq-score does. For the other scores BPE is joined and Moses'
tokenization undone, on both sides alike; --ref-raw gives the untouched reference instead, which makes them comparable
with those of other systems. --detokenized says that both sides are raw text already, and needs no language: the scores
are those of sacreBLEU's own command. For German there is the compound-split BLEU of the papers too. With the source,
which a log holds, BLEU by its length follows.

With --windows each line is a window of several sentences, as fairseq_rope_data.windows makes them, and --ref-raw the
raw text before it made them. BLEU and chrF are of whole windows without separators; then follow BLEU of the sentences,
all together and by their place in the window, and how many windows have another number of them.

Text that can't be what it is taken for is an error that names file and line: unequal numbers of lines, lines out of
order, empty hypotheses, BPE markers or split hyphens in raw text. Few lines out of order, as near paraphrases look,
are a note.
"""

import argparse
import dataclasses
import os
from pathlib import Path

from fairseq_rope.scoring.checks import ALLOWED, allowed
from fairseq_rope.scoring.detokenize import BPE_KINDS
from fairseq_rope.scoring.evaluation import ScoreSettings
from fairseq_rope.scoring.report_file import report_json, report_text
from fairseq_rope.scoring.score_files import score_log, score_texts, write_hypotheses
from fairseq_rope_data import cli
from fairseq_rope_data.errors import UserError, run


def main() -> None:
    args = _parser().parse_args()
    _check_files(args)
    args.allow = tuple(args.allow)
    settings = ScoreSettings(**{field.name: getattr(args, field.name) for field in dataclasses.fields(ScoreSettings)})
    if args.log is not None:
        report = score_log(args.log, settings, ref_raw=args.ref_raw, src=args.src, windows=args.windows)
    else:
        report = score_texts(args.sys, args.ref, settings, ref_raw=args.ref_raw, src=args.src, windows=args.windows)
    if args.save_hyps is not None:
        write_hypotheses(report, args.save_hyps)
    print(report_json(report) if args.json else report_text(report))


def _check_files(args: argparse.Namespace) -> None:
    """Check which files are given, and that none of them is overwritten."""
    if args.log is not None and (args.sys is not None or args.ref is not None):
        raise UserError("--log excludes --sys and --ref: a log holds both")
    if args.log is None and (args.sys is None or (args.ref is None and args.ref_raw is None)):
        raise UserError("give --log, or --sys with --ref or --ref-raw or both")
    if [args.log, args.sys, args.ref, args.ref_raw, args.src].count(Path("-")) > 1:
        raise UserError("only one file can be -, stdin")
    if args.save_hyps is not None:
        for option in ("sys", "ref", "log", "ref_raw", "src", "windows"):
            if _is_same(args.save_hyps, getattr(args, option)):
                raise UserError(f"--save-hyps {args.save_hyps} would overwrite --{option.replace('_', '-')}")


def _is_same(output: Path, given: Path | None) -> bool:
    return given not in (None, Path("-")) and os.path.realpath(output) == os.path.realpath(given)


def _parser() -> argparse.ArgumentParser:
    parser = cli.parser(__doc__, "score")
    add = parser.add_argument
    add("--sys", "-s", type=Path, metavar="FILE", help="hypotheses, one a line, plain or gzipped; - is stdin")
    add("--ref", "-r", type=Path, metavar="FILE", help="references, in the same form as the hypotheses")
    add("--log", type=Path, metavar="FILE", help="a log of fairseq-generate, in place of --sys and --ref")
    add("--ref-raw", type=Path, metavar="FILE", help="raw references, for the detokenized scores")
    add("--src", type=Path, metavar="FILE", help="source, raw or tokenized, for BLEU by its length; a log has its own")
    add("--windows", type=Path, metavar="FILE", help="index of windows, PREFIX.windows.tsv: score by sentence too")
    add("--target-lang", "-t", default="", metavar="LANG", help="detokenize by this language's rules, such as de")
    add(
        *("--post-process", "--remove-bpe"),
        nargs="?",
        const="subword_nmt",
        default="",
        choices=BPE_KINDS,
        metavar="KIND",
        help=f"how BPE is joined, as in fairseq: {', '.join(BPE_KINDS)}; if not given, seen from the text",
    )
    add("--detokenized", "--detokenised", action="store_true", help="the text is raw already: no BLEU4")
    add("--lowercase", action="store_true", help="score lower-cased text; the signatures say so")
    add(
        "--allow",
        action="append",
        default=[],
        type=allowed,
        choices=ALLOWED,
        help="score in spite of: empty hypotheses, BPE markers left in raw text, lines out of order; can be repeated",
    )
    add("--save-hyps", type=Path, metavar="FILE", help="write the detokenized hypotheses, for other scorers")
    add("--json", action="store_true", help="print one JSON object")
    return parser


if __name__ == "__main__":
    run("score", main)
