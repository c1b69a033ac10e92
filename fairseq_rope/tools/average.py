"""Average the weights of several checkpoints of one training into one, which usually translates better.

python -m fairseq_rope.tools.average --inputs checkpoints --num-epoch-checkpoints 5 --output checkpoints/average.pt

Options are those of fairseq's script. The result is for fairseq-generate: settings stay (from the first file; the
newest with --num-...), the optimizer's state goes. Memory: the running sum and one checkpoint.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

import torch

from fairseq_rope.checkpoints.files import Checkpoint, last_epoch_checkpoints, last_update_checkpoints, load_checkpoint
from fairseq_rope.checkpoints.running_mean import RunningMean
from fairseq_rope_data import cli
from fairseq_rope_data.errors import UserError, run
from fairseq_rope_data.files import complete_file

# what only a training goes on from; the EMA is a second model, which would be that of one checkpoint
_OPTIMIZER_STATE = "last_optimizer_state"
_EMA_STATES = ("ema", "ema_fp32_params")


def average_checkpoints(paths: Sequence[Path]) -> Checkpoint:
    """Average the models in `paths` and print a table of them; all else comes from the first.

    Raises:
        UserError: no path; a file that `load_checkpoint` refuses; models that `RunningMean` refuses.
    """
    if not paths:
        raise UserError("--inputs must name at least one checkpoint")
    mean = RunningMean()
    result: Checkpoint = {}
    print(f"{'epoch':>6} {'updates':>8} {'valid loss':>10}  file")
    for path in paths:
        state = load_checkpoint(path)
        mean.add(path, state.pop("model"))
        print(_table_row(path, state), flush=True)
        result = result or _without_training_state(state)
        del state
    result["model"] = mean.result()
    return result


def _without_training_state(state: Checkpoint) -> Checkpoint:
    """Keep what fairseq's loaders read: args or cfg, task_state, optimizer_history and extra_state."""
    kept = {key: value for key, value in state.items() if key != _OPTIMIZER_STATE}
    if state.get("optimizer_history"):
        # before `last_optimizer_state`, fairseq kept the optimizer's state in here
        history = state["optimizer_history"]
        kept["optimizer_history"] = [{k: v for k, v in entry.items() if k != "optimizer"} for entry in history]
    if state.get("extra_state"):
        kept["extra_state"] = {k: v for k, v in state["extra_state"].items() if k not in _EMA_STATES}
    return kept


def _table_row(path: Path, state: Checkpoint) -> str:
    """Return what a user knows a checkpoint by; a dash is for what it lacks, or has in another form than fairseq's."""
    history = state.get("optimizer_history") or [{}]
    extra = state.get("extra_state") or {}
    position = extra.get("train_iterator")
    position = position if isinstance(position, dict) else {}
    epoch, updates, loss = position.get("epoch"), history[-1].get("num_updates"), extra.get("val_loss")
    # at the end of an epoch fairseq saves where it goes on: the next epoch's start
    epoch_text = epoch - (position.get("iterations_in_epoch") == 0) if isinstance(epoch, int) else "-"
    updates_text = updates if isinstance(updates, int) else "-"
    loss_text = f"{loss:.4f}" if isinstance(loss, int | float) else "-"
    return f"{epoch_text:>6} {updates_text:>8} {loss_text:>10}  {path}"


def write_average(paths: Sequence[Path], output: Path) -> None:
    """Average `paths` into the file `output`, which is complete or not there.

    Raises:
        UserError: see `average_checkpoints`; or `output` is one of `paths`, a folder, or cannot be written.
    """
    if output.is_dir():
        raise UserError(f"--output must be a file, but {output} is a folder")
    for path in paths:
        if path.exists() and output.exists() and path.samefile(output):
            raise UserError(f"--output must not be an input, but {output} is {path}")
    with complete_file(output) as part:
        part.touch()  # an unwritable folder is told now, not after minutes of work
        state = average_checkpoints(paths)
        try:
            torch.save(state, part)
        except RuntimeError as error:  # torch's text for a full disk doesn't say so
            raise UserError(f"cannot write {output}: is the disk full? ({str(error).splitlines()[0]})") from error
    model = state["model"]
    types = ", ".join(sorted({str(tensor.dtype).removeprefix("torch.") for tensor in model.values()}))
    numbers = sum(tensor.numel() for tensor in {id(tensor): tensor for tensor in model.values()}.values())
    print(f"averaged {len(paths)} checkpoints ({len(model)} keys, {numbers:,} numbers, {types}) into {output}")


def choose_inputs(args: argparse.Namespace) -> list[Path]:
    """Turn --inputs and the --num options into the files to average, the newest first for --num.

    Raises:
        UserError: several folders, a folder without a --num option, too few checkpoints, a bound without --num.
    """
    by_epoch, by_update = args.num_epoch_checkpoints, args.num_update_checkpoints
    if by_epoch is not None and by_update is not None:
        raise UserError("--num-epoch-checkpoints and --num-update-checkpoints exclude each other, but both are given")
    if by_epoch is None and by_update is None:
        if args.checkpoint_upper_bound is not None:
            raise UserError("--checkpoint-upper-bound needs --num-epoch-checkpoints or --num-update-checkpoints")
        for path in args.inputs:
            if path.is_dir():
                raise UserError(f"--inputs has the folder {path}: say how many with --num-epoch-checkpoints N")
        return list(args.inputs)
    if len(args.inputs) != 1:
        raise UserError(f"--inputs must be one folder with a --num option, but {len(args.inputs)} are given")
    if by_epoch is not None:
        return last_epoch_checkpoints(args.inputs[0], by_epoch, upper_bound=args.checkpoint_upper_bound)
    return last_update_checkpoints(args.inputs[0], by_update, upper_bound=args.checkpoint_upper_bound)


def main() -> None:
    """Read the command line and average."""
    parser = cli.parser(__doc__, "average")
    add = parser.add_argument
    add("--inputs", required=True, nargs="+", type=Path, help="checkpoint files, or one folder with a --num option")
    add("--output", required=True, type=Path, metavar="FILE", help="where the averaged checkpoint goes")
    add("--num-epoch-checkpoints", type=int, metavar="N", help="the last N files checkpoint<epoch>.pt of the folder")
    add(
        "--num-update-checkpoints",
        type=int,
        metavar="N",
        help="the last N files checkpoint_<epoch>_<updates>.pt of the folder",
    )
    add(
        "--checkpoint-upper-bound",
        type=int,
        metavar="M",
        help="with a --num option: nothing after epoch, or update, M (itself included)",
    )
    args = parser.parse_args()
    write_average(choose_inputs(args), args.output)


if __name__ == "__main__":
    run("average", main)
