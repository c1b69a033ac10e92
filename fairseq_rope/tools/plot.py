"""Draw the learning curves of an experiment's models into one picture (needs the extra `plot`).

python -m fairseq_rope.tools.plot runs/quickstart --output learning_curves.png
"""

from pathlib import Path

from fairseq_rope.experiments.train_log import TrainLog, read_train_log
from fairseq_rope.experiments.work_folder import model_folders
from fairseq_rope_data import cli
from fairseq_rope_data.errors import UserError, run
from fairseq_rope_data.files import complete_file


def draw(logs: dict[str, TrainLog], output: Path) -> None:
    """Draw validation loss over updates, a line for each model, into the PNG `output`.

    Raises:
        UserError: matplotlib is not installed.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise UserError("a picture needs matplotlib: pip install 'fairseq-rope[plot]'") from None
    figure = Figure(figsize=(7, 4.5), layout="constrained")
    axes = figure.add_subplot()
    for name, log in logs.items():
        updates, losses = zip(*((validation.updates, validation.loss) for validation in log.validations), strict=True)
        axes.plot(updates, losses, marker=".", label=f"{name}, best {log.best.loss:.3f}")
    axes.set(xlabel="updates", ylabel="validation loss (label-smoothed, bits a token)", yscale="log")
    axes.yaxis.set_major_formatter("{x:.1f}")
    axes.yaxis.set_minor_formatter("{x:.1f}")
    axes.grid(alpha=0.3, which="both")
    axes.legend()
    with complete_file(output) as part:
        figure.savefig(part, format="png", dpi=150)


def main() -> None:
    """Read the options and draw."""
    parser = cli.parser(__doc__, "plot")
    parser.add_argument("work", type=Path, metavar="WORK", help="work folder of a recipe")
    parser.add_argument("--output", type=Path, required=True, metavar="PNG", help="the picture to write")
    options = parser.parse_args()
    draw({folder.name: read_train_log(folder / "train.log") for folder in model_folders(options.work)}, options.output)
    print(f"wrote {options.output}")


if __name__ == "__main__":
    run("plot", main)
