"""Keep what the results of an experiment are made from, without checkpoints and text: some hundred kilobytes.

    python -m fairseq_rope.tools.keep runs/mlm --models roformer bert --output kept/mlm
    python -m fairseq_rope.tools.results kept/mlm

The new folder has each run's training log, without the lines that results do not read, its scores and predictions,
settings and starts, and the checksums of the data. Of absolute paths in commands, options and notes the last names
alone are left. results and report read it like the work folder; bootstraps of translations need the texts, which are
left out.
"""

from pathlib import Path

from fairseq_rope.experiments.kept import keep
from fairseq_rope_data import cli
from fairseq_rope_data.errors import run


def main() -> None:
    parser = cli.parser(__doc__, "keep")
    parser.add_argument("work", nargs="+", type=Path, metavar="WORK", help="work folders of recipes")
    parser.add_argument("--output", type=Path, required=True, metavar="FOLDER", help="the folder to write")
    parser.add_argument("--models", nargs="+", default=(), metavar="NAME", help="as in results")
    args = parser.parse_args()
    print(f"wrote {args.output}: {keep(args.work, args.output, args.models)} runs")


if __name__ == "__main__":
    run("keep", main)
