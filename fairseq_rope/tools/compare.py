"""Tell whether translations differ by more than chance: paired bootstrap of detokenised text against a baseline.

python -m fairseq_rope.tools.compare --ref-raw test.de --target-lang de sinusoidal/hyp-test.de rope/hyp-test.de

The first file is the baseline. The files hold detokenised hypotheses, as `score --save-hyps` writes them. For each
metric there is the score, mean and 95% interval of the resampled test sets, and p: how likely a difference as large as
this is between equal systems; below 0.05 it is commonly called significant. The figures are those of sacreBLEU's own
command, sacrebleu REF -i BASELINE SYSTEM... --paired-bs.
"""

import dataclasses
import json
import os
from collections.abc import Mapping
from pathlib import Path

from fairseq_rope.experiments.markdown import table
from fairseq_rope.scoring.bootstrap import MAX_SAMPLES, SAMPLES, Comparison, Result, paired_bootstrap
from fairseq_rope.scoring.checks import ALLOWED, same_length
from fairseq_rope.scoring.detokenize import check_language
from fairseq_rope.scoring.evaluation import Pair, Settings, check
from fairseq_rope.scoring.text import read_text
from fairseq_rope_data import cli
from fairseq_rope_data.errors import UserError, run
from fairseq_rope_data.streams import tell


def compare_files(
    files: Mapping[str, Path], ref_raw: Path, settings: Settings, *, samples: int = SAMPLES
) -> list[Comparison]:
    """Compare files of detokenised hypotheses, name -> file, with the first of them.

    Raises:
        UserError: a file can't be read or has another number of lines; and see `corpus.check`.
    """
    refs = read_text(ref_raw)
    systems = {}
    for name, file in files.items():
        hyps = read_text(file)
        same_length(hyps, refs, options=("SYSTEM", "--ref-raw"))
        for note in check(None, Pair(hyps, refs), settings):
            tell(f"compare: note: {note}")
        systems[name] = hyps.lines
    return paired_bootstrap(
        systems, refs.lines, target_lang=settings.target_lang, lowercase=settings.lowercase, samples=samples
    )


def cell(result: Result) -> str:
    """Give a result as people read it: score (mean ± interval), p = p-value."""
    text = f"{result.score:.2f} ({result.mean:.2f} ± {result.interval:.2f})"
    return text if result.p_value is None else f"{text}, p = {result.p_value:.4f}"


def as_table(comparisons: list[Comparison]) -> str:
    """Give comparisons to people: a row for each system, a column for each metric, then the signatures."""
    columns = {each.metric: {result.system: cell(result) for result in each.results} for each in comparisons}
    return "\n".join([table(columns), *(f"{each.metric}: {each.signature}" for each in comparisons)])


def main() -> None:
    """Read the options, compare and print."""
    parser = cli.parser(__doc__, "compare")
    add = parser.add_argument
    add("baseline", type=Path, metavar="BASELINE", help="detokenised hypotheses, one a line, plain or gzipped")
    add("systems", type=Path, nargs="+", metavar="SYSTEM", help="the same sentences by another system")
    add("--ref-raw", type=Path, required=True, metavar="FILE", help="raw references")
    add("--target-lang", "-t", default="", metavar="LANG", help="with de, compound-split BLEU too")
    add("--lowercase", action="store_true", help="compare lower-cased text; the signatures say so")
    add("--samples", type=int, default=SAMPLES, metavar="N", help=f"test sets to draw (default: {SAMPLES})")
    add("--allow", action="append", default=[], choices=ALLOWED, help="as in score")
    add("--json", action="store_true", help="print a JSON list, an object for each metric")
    args = parser.parse_args()
    if not 1 <= args.samples <= MAX_SAMPLES:
        raise UserError(f"--samples must be between 1 and {MAX_SAMPLES}, but is {args.samples}")
    check_language(args.target_lang)
    settings = Settings(args.target_lang, detokenised=True, lowercase=args.lowercase, allow=tuple(args.allow))
    files = [args.baseline, *args.systems]
    if len({os.path.realpath(file) for file in files}) < len(files):
        raise UserError("a file is given twice: to compare it with itself says nothing")
    comparisons = compare_files({str(file): file for file in files}, args.ref_raw, settings, samples=args.samples)
    fields = [dataclasses.asdict(each) for each in comparisons]
    print(json.dumps(fields, ensure_ascii=False) if args.json else as_table(comparisons))


if __name__ == "__main__":
    run("compare", main)
