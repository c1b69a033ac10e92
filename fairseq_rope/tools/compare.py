"""Test whether translations differ by more than chance: paired bootstrap of detokenized text against a baseline.

    python -m fairseq_rope.tools.compare --ref-raw test.de --target-lang de sinusoidal/hyp-test.de rope/hyp-test.de
    python -m fairseq_rope.tools.compare --ref-raw test.de --target-lang de \\
        --system sinusoidal sinusoidal/hyp-test.de sinusoidal-seed2/hyp-test.de \\
        --system rope rope/hyp-test.de rope-seed2/hyp-test.de

The first file is the baseline. The files hold detokenized hypotheses, as `score --save-hyps` writes them. For each
metric there is the score, mean and 95% interval of the resampled test sets, and p: how likely a difference as large as
this, of either sign, is between equal systems; below 0.05 it is commonly called significant. All but p is as
sacreBLEU's own command has it, sacrebleu REF -i BASELINE SYSTEM... --paired-bs, which counts one sign: its p is about
half of this one, and of two equal systems it calls every tenth pair significant.

--system gives several seeds of each: a name, and a file for each seed; files at the same place are of the same seed,
and the first system is the baseline. Then there are mean and standard deviation over seeds, and two intervals of the
mean difference, of two kinds of noise: the t interval of differences paired by seed says how far it could come from
the seeds of the trainings, the paired bootstrap, pooled over seeds, how far from the sentences of the test set.
"""

import dataclasses
import json
import os
from collections.abc import Sequence
from pathlib import Path

from fairseq_rope.experiments.bootstraps import comparison_table
from fairseq_rope.experiments.pairs import ONE_SEED
from fairseq_rope.experiments.system_differences import system_differences, systems_text
from fairseq_rope.scoring.checks import ALLOWED, allowed
from fairseq_rope.scoring.comparison import compare_seeds
from fairseq_rope.scoring.detokenize import check_language
from fairseq_rope.scoring.evaluation import ScoreSettings
from fairseq_rope.scoring.resampling import MAX_SAMPLES, SAMPLES
from fairseq_rope_data import cli
from fairseq_rope_data.errors import UserError, run


def main() -> None:
    parser = cli.parser(__doc__, "compare")
    add = parser.add_argument
    add(
        "files",
        type=Path,
        nargs="*",
        metavar="FILE",
        help="detokenized hypotheses, one a line, plain or gzipped: the baseline's, then those of other systems",
    )
    add(
        "--system",
        action="append",
        nargs="+",
        default=[],
        metavar=("NAME", "FILE"),
        help="a system and its hypotheses, a file for each seed, in place of FILE...; give two or more",
    )
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
    systems = _systems(args.files, args.system)
    found = compare_seeds(systems, args.ref_raw, settings, samples=args.samples)
    if args.system:
        fields = [dataclasses.asdict(each) for each in system_differences(found)]
        text = systems_text(found)
    else:
        comparisons = [each.by_seed[0] for each in found]
        fields = [dataclasses.asdict(each) for each in comparisons]
        text = f"{comparison_table(comparisons)}\n{ONE_SEED}"
    print(json.dumps(fields, ensure_ascii=False) if args.json else text)


def _systems(files: Sequence[Path], named: Sequence[Sequence[str]]) -> dict[str, list[Path]]:
    """Return the files of each system by seed; a system that has no name is called by its file.

    Raises:
        UserError: files of both kinds, fewer than two systems, a name or a file twice, or unequal numbers of files.
    """
    if bool(files) == bool(named):
        raise UserError("give either the FILE of each system, two or more, or --system NAME FILE... for each")
    systems = [(name, [Path(file) for file in own]) for name, *own in named] or [(str(file), [file]) for file in files]
    names, seeds = [name for name, _ in systems], len(systems[0][1])
    if len(systems) < 2:
        raise UserError(f"{names[0]} is the baseline: give another system to compare with it")
    all_files = [file for _, own in systems for file in own]
    if len({os.path.realpath(file) for file in all_files}) < len(all_files):
        raise UserError("a file is given twice: to compare it with itself says nothing")
    for name, own in systems:
        if names.count(name) > 1:
            raise UserError(f"--system {name} is given twice: all its seeds belong to one --system")
        if not own or len(own) != seeds:
            raise UserError(
                f"--system must have a file for each seed, but {names[0]} has {seeds} and {name} {len(own)}"
            )
    return dict(systems)


if __name__ == "__main__":
    run("compare", main)
