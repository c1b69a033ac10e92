"""Average the weights of several checkpoints of one training into one, which usually translates better.

python -m fairseq_rope.tools.average --inputs checkpoints --num-epoch-checkpoints 5 --output checkpoints/average.pt

Options are those of fairseq's script. The result is for fairseq-generate: settings stay (from the first file; the
newest with --num-...), the optimizer's state goes. Memory: the running sum and one checkpoint.
"""

from pathlib import Path

from fairseq_rope.checkpoints.averaging import choose_inputs, write_average
from fairseq_rope_data import cli
from fairseq_rope_data.errors import run


def main() -> None:
    parser = cli.parser(__doc__, "average")
    add = parser.add_argument
    add("--inputs", required=True, nargs="+", type=Path, help="checkpoint files, or one folder with a --num option")
    add("--output", required=True, type=Path, metavar="FILE", help="where the averaged checkpoint goes")
    add("--num-epoch-checkpoints", type=int, metavar="N", help="the last N files checkpoint<epoch>.pt of the folder")
    updates = "the last N files checkpoint_<epoch>_<updates>.pt of the folder"
    add("--num-update-checkpoints", type=int, metavar="N", help=updates)
    bound = "with a --num option: nothing after epoch, or update, M (itself included)"
    add("--checkpoint-upper-bound", type=int, metavar="M", help=bound)
    args = parser.parse_args()
    inputs = choose_inputs(
        args.inputs,
        by_epoch=args.num_epoch_checkpoints,
        by_update=args.num_update_checkpoints,
        upper_bound=args.checkpoint_upper_bound,
    )
    write_average(inputs, args.output)


if __name__ == "__main__":
    run("average", main)
