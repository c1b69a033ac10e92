"""Print the results of an experiment as a table: a column for each model, a row for each statistic.

    python -m fairseq_rope.tools.results runs/quickstart
    python -m fairseq_rope.tools.results runs/quickstart --models rope sinusoidal
    python -m fairseq_rope.tools.results runs/seeds-1-2 runs/seeds-3-4
    python -m fairseq_rope.tools.results runs/positions --statistics "test: BLEU" "long: BLEU" "training, words/s"

A run is a folder of WORK with a train.log; its scores are in score-SET.json, as tools.score --json writes them. Runs of
one model with several seeds (rope, rope-seed2, rope-seed3 ...) share a column: mean ± standard deviation. Several
folders are one experiment, where their manifests tell the same data and no model and seed is in two of them. --models
chooses the columns and their order, and so which model comes first; without it all models stand by their names.
`valid BLEU (greedy), best` is of the validation set, while the model was trained (VALID_BLEU): no score of a test set.

The first model is the baseline. Below stand the differences of each other model from it, by two kinds of noise:

- of training: mean and 95% t interval of differences paired by seed, over the seeds that both have, on one test set.
- of the test set: the paired bootstrap on each test set that has WORK/raw/SET.LANG and hyp-SET.LANG of both, which
  tools.score --save-hyps writes, of the models as they were trained. Of several seeds it is pooled: mean difference,
  95% interval and p, over resampled test sets that are the same for all seeds. Of one seed it has the scores of both.

Where runs were made from other text, at other commits, on other processors or GPUs, in another precision or with other
versions, a note says which.

Then what each model needs to reach the best validation loss of the other one, in updates and minutes, validation loss
and BLEU after equally many updates, and BLEU by the length of the source.
--statistics leaves out all but the differences over seeds, and gives a row to each model.
--json has everything, by seed; its fields are described in fairseq_rope/experiments/data.py.

--stages has masked language models instead, trained one after another: length, batch in blocks, steps, loss in nats and
accuracy of each, the columns of RoFormer's table 4, and loss and accuracy at each length that was read.

Of a conversion (scripts/convert_to_rope.sh) the table has loss and BLEU by updates after the switch instead.
"""

from pathlib import Path

from fairseq_rope.experiments.conversion import conversion_text, is_conversion
from fairseq_rope.experiments.data import results_json
from fairseq_rope.experiments.results import chosen_results_text, results_text
from fairseq_rope.experiments.stages import stages_text
from fairseq_rope_data import cli
from fairseq_rope_data.errors import run


def main() -> None:
    parser = cli.parser(__doc__, "results")
    parser.add_argument("work", type=Path, nargs="+", metavar="WORK", help="work folder of a recipe")
    parser.add_argument(
        "--models",
        nargs="+",
        default=(),
        metavar="NAME",
        help="the models to show, the first of which is compared with each other one (default: all, by name)",
    )
    chosen = parser.add_mutually_exclusive_group()
    chosen.add_argument(
        "--statistics",
        nargs="+",
        default=(),
        metavar="NAME",
        help="only these, by the names that the table has, and their differences over seeds",
    )
    chosen.add_argument("--stages", action="store_true", help="the stages of a pre-training, and lengths that are read")
    chosen.add_argument("--json", action="store_true", help="print one JSON object")
    args = parser.parse_args()
    first, *others = args.work
    if others and (args.stages or is_conversion(first)):
        parser.error(f"stages and conversions are of one folder, but there is {others[0]} too")
    if args.statistics:
        print(chosen_results_text(args.work, args.models, args.statistics))
    elif args.stages:
        print(stages_text(first, args.models))
    elif is_conversion(first) and not args.json and not args.models:
        print(conversion_text(first))
    else:
        print((results_json if args.json else results_text)(args.work, args.models))


if __name__ == "__main__":
    run("results", main)
