"""The average of several checkpoints of one training."""

import hashlib
from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor

from fairseq_rope.checkpoints.files import (
    Checkpoint,
    last_checkpoints,
    load_checkpoint,
    model_options,
    save_checkpoint,
)
from fairseq_rope.checkpoints.running_mean import RunningMean
from fairseq_rope.compat.fixed_options import fixed_options
from fairseq_rope_data.errors import UserError
from fairseq_rope_data.files import complete_file

# what only a training needs; the EMA is a second model, which would be that of one checkpoint
_OPTIMIZER_STATE = "last_optimizer_state"
_EMA_STATES = ("ema", "ema_fp32_params")


def average_checkpoints(paths: Sequence[Path]) -> Checkpoint:
    """Average the models in `paths` and print a table of them; all else comes from the first.

    Raises:
        UserError: no path; a file that `load_checkpoint` refuses; models that `RunningMean` refuses; one model twice;
            options of which the same weights make another model.
    """
    if not paths:
        raise UserError("--inputs must name at least one checkpoint")
    mean = RunningMean()
    result: Checkpoint = {}
    print(f"{'epoch':>6} {'updates':>8} {'valid loss':>10}  file")
    seen: dict[str, Path] = {}
    for path in paths:
        state = load_checkpoint(path)
        model = state.pop("model")
        mean.add(path, model)
        # fairseq's checkpoint_last.pt and checkpoint_best.pt are copies
        digest = _digest(model, _updates(state))
        if digest in seen:
            raise UserError(f"--inputs: {path} is the same model as {seen[digest]}, which would count twice")
        seen[digest] = path
        _check_options(path, state, first=paths[0], result=result)
        print(_table_row(path, state), flush=True)
        result = result or without_training_state(state)
        del state, model
    result["model"] = mean.result()
    return result


def _check_options(path: Path, state: Checkpoint, *, first: Path, result: Checkpoint) -> None:
    """Check that a model computes as the first one does, as far as both say so."""
    expected = fixed_options(vars(model_options(result)))
    for name, value in fixed_options(vars(model_options(state))).items():
        if value != expected.get(name, value):
            raise UserError(f"cannot average {path}: its {name} is {value!r}, but {expected[name]!r} in {first}")


def without_training_state(state: Checkpoint) -> Checkpoint:
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
    """Return epoch, updates, loss and file of a checkpoint; a dash where it has none, or not as fairseq writes it."""
    extra = state.get("extra_state") or {}
    position = extra.get("train_iterator")
    position = position if isinstance(position, dict) else {}
    epoch, updates, loss = position.get("epoch"), _updates(state), extra.get("val_loss")
    # at the end of an epoch fairseq saves where it goes on: the next epoch's start
    epoch_text = epoch - (position.get("iterations_in_epoch") == 0) if isinstance(epoch, int) else "-"
    updates_text = updates if isinstance(updates, int) else "-"
    loss_text = f"{loss:.4f}" if isinstance(loss, int | float) else "-"
    return f"{epoch_text:>6} {updates_text:>8} {loss_text:>10}  {path}"


def _updates(state: Checkpoint) -> object:
    return (state.get("optimizer_history") or [{}])[-1].get("num_updates")


def _digest(model: dict[str, Tensor], updates: object) -> str:
    """Return what tells models apart: not weights alone, which a rate of 0 leaves as they are."""
    digest = hashlib.sha256(repr(updates).encode())
    for tensor in model.values():
        digest.update(tensor.contiguous().view(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()


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
        save_checkpoint(state, part, output=output)
    model = state["model"]
    types = ", ".join(sorted({str(tensor.dtype).removeprefix("torch.") for tensor in model.values()}))
    numbers = sum(tensor.numel() for tensor in {id(tensor): tensor for tensor in model.values()}.values())
    print(f"averaged {len(paths)} checkpoints ({len(model)} keys, {numbers:,} numbers, {types}) into {output}")


def choose_inputs(
    inputs: Sequence[Path], *, by_epoch: int | None, by_update: int | None, upper_bound: int | None
) -> list[Path]:
    """Return the files to average: `inputs`, or the last ones of the folder that it names, the newest first.

    Args:
        inputs: files, or one folder with one of the next two.
        by_epoch: --num-epoch-checkpoints.
        by_update: --num-update-checkpoints.
        upper_bound: --checkpoint-upper-bound.

    Raises:
        UserError: several folders, a folder without a --num option, too few checkpoints, a bound without --num.
    """
    counts = {kind: count for kind, count in (("epoch", by_epoch), ("update", by_update)) if count is not None}
    if len(counts) > 1:
        raise UserError("--num-epoch-checkpoints and --num-update-checkpoints exclude each other, but both are given")
    if not counts:
        if upper_bound is not None:
            raise UserError("--checkpoint-upper-bound needs --num-epoch-checkpoints or --num-update-checkpoints")
        for path in inputs:
            if path.is_dir():
                raise UserError(f"--inputs has the folder {path}: say how many with --num-epoch-checkpoints N")
        return list(inputs)
    if len(inputs) != 1:
        raise UserError(f"--inputs must be one folder with a --num option, but {len(inputs)} are given")
    ((kind, count),) = counts.items()
    return last_checkpoints(inputs[0], kind, count, upper_bound=upper_bound)
