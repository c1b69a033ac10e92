"""Draw the learning curves of an experiment's models into one picture (needs the extra `plot`).

python -m fairseq_rope.tools.plot runs/quickstart --output learning_curves.png
"""

from pathlib import Path

from fairseq_rope.experiments.curves import draw_curves
from fairseq_rope.experiments.train_log import read_train_log
from fairseq_rope.experiments.work_folder import find_models
from fairseq_rope_data import cli
from fairseq_rope_data.errors import run


def main() -> None:
    parser = cli.parser(__doc__, "plot")
    parser.add_argument("work", type=Path, metavar="WORK", help="work folder of a recipe")
    parser.add_argument("--output", type=Path, required=True, metavar="PNG", help="the picture to write")
    parser.add_argument("--models", nargs="+", default=(), metavar="NAME", help="as in results")
    args = parser.parse_args()
    folders = [folder for model in find_models(args.work, args.models) for folder in model.runs.values()]
    draw_curves({folder.name: read_train_log(folder / "train.log") for folder in folders}, args.output)
    print(f"wrote {args.output}")


if __name__ == "__main__":
    run("plot", main)
