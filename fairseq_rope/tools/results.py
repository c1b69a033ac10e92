"""Print the results of an experiment as a table: a column for each model, a row for each statistic.

    python -m fairseq_rope.tools.results runs/quickstart
    python -m fairseq_rope.tools.results runs/quickstart --models rope sinusoidal

A run is a folder of WORK with a train.log; its scores are in score-SET.json, as tools.score --json writes them. Runs of
one model with several seeds (rope, rope-seed2, rope-seed3 ...) share a column: mean ± standard deviation. Below stand
BLEU by the length of the source, and the paired bootstrap between the first model and each other one of the same seed
on each test set that has WORK/raw/SET.LANG and hyp-SET.LANG of both, which tools.score --save-hyps writes. --models
chooses the columns and their order, and so which model comes first; without it all models stand by their names.

Of a conversion (scripts/convert_to_rope.sh) the table has loss and BLEU by updates after the switch instead.
"""

from pathlib import Path

from fairseq_rope.experiments.conversion import conversion_text, is_conversion
from fairseq_rope.experiments.results import results_json, results_text
from fairseq_rope_data import cli
from fairseq_rope_data.errors import run


def main() -> None:
    parser = cli.parser(__doc__, "results")
    parser.add_argument("work", type=Path, metavar="WORK", help="work folder of a recipe")
    parser.add_argument(
        "--models",
        nargs="+",
        default=(),
        metavar="NAME",
        help="the models to show, the first of which is compared with each other one (default: all, by name)",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    args = parser.parse_args()
    if is_conversion(args.work) and not args.json and not args.models:
        print(conversion_text(args.work))
        return
    print((results_json if args.json else results_text)(args.work, args.models))


if __name__ == "__main__":
    run("results", main)
