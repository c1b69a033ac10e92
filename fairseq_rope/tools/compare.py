"""Test whether translations differ by more than chance: paired bootstrap of detokenized text against a baseline.

python -m fairseq_rope.tools.compare --ref-raw test.de --target-lang de sinusoidal/hyp-test.de rope/hyp-test.de

The first file is the baseline. The files hold detokenized hypotheses, as `score --save-hyps` writes them. For each
metric there is the score, mean and 95% interval of the resampled test sets, and p: how likely a difference as large as
this is between equal systems; below 0.05 it is commonly called significant. The numbers are those of sacreBLEU's own
command, sacrebleu REF -i BASELINE SYSTEM... --paired-bs.
"""

import dataclasses
import json
import os
from pathlib import Path

from fairseq_rope.experiments.bootstraps import comparison_table
from fairseq_rope.scoring.checks import ALLOWED, allowed
from fairseq_rope.scoring.comparison import compare_files
from fairseq_rope.scoring.detokenize import check_language
from fairseq_rope.scoring.evaluation import ScoreSettings
from fairseq_rope.scoring.resampling import MAX_SAMPLES, SAMPLES
from fairseq_rope_data import cli
from fairseq_rope_data.errors import UserError, run


def main() -> None:
    parser = cli.parser(__doc__, "compare")
    add = parser.add_argument
    add("baseline", type=Path, metavar="BASELINE", help="detokenized hypotheses, one a line, plain or gzipped")
    add("systems", type=Path, nargs="+", metavar="SYSTEM", help="the same sentences by another system")
    add("--ref-raw", type=Path, required=True, metavar="FILE", help="raw references")
    add("--target-lang", "-t", default="", metavar="LANG", help="with de, compound-split BLEU too")
    add("--lowercase", action="store_true", help="compare lower-cased text; the signatures say so")
    add("--samples", type=int, default=SAMPLES, metavar="N", help=f"test sets to draw (default: {SAMPLES})")
    add("--allow", action="append", default=[], type=allowed, choices=ALLOWED, help="as in score")
    add("--json", action="store_true", help="print a JSON list, an object for each metric")
    args = parser.parse_args()
    if not 1 <= args.samples <= MAX_SAMPLES:
        raise UserError(f"--samples must be between 1 and {MAX_SAMPLES}, but is {args.samples}")
    check_language(args.target_lang)
    settings = ScoreSettings(args.target_lang, detokenized=True, lowercase=args.lowercase, allow=tuple(args.allow))
    files = [args.baseline, *args.systems]
    if len({os.path.realpath(file) for file in files}) < len(files):
        raise UserError("a file is given twice: to compare it with itself says nothing")
    comparisons = compare_files({str(file): file for file in files}, args.ref_raw, settings, samples=args.samples)
    fields = [dataclasses.asdict(each) for each in comparisons]
    print(json.dumps(fields, ensure_ascii=False) if args.json else comparison_table(comparisons))


if __name__ == "__main__":
    run("compare", main)
