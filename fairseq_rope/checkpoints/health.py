"""The health of a checkpoint: fit to resume from, fit to translate with alone, or damaged."""

from dataclasses import dataclass
from pathlib import Path

from fairseq_rope.checkpoints.files import Checkpoint, load_checkpoint
from fairseq_rope.compat.verified_checkpoints import DamagedCheckpoint


@dataclass(frozen=True)
class Health:
    """The state of a file: the `updates` to go on from, None if it cannot be; `damage`, what is broken in it.

    `is_best`: no checkpoint before it had a better validation score, so that fairseq copies it to checkpoint_best.pt.
    """

    path: Path
    updates: int | None = None
    is_best: bool = False
    damage: str | None = None


def examine(path: Path) -> Health:
    """Read a checkpoint, every byte of it, and return its health.

    Raises:
        OSError: it cannot be read, which says nothing about what is in it.
        UserError: it is whole, but not a checkpoint, or one that wants to run something.
    """
    try:
        state = load_checkpoint(path)
    except DamagedCheckpoint as error:
        return Health(path, damage=str(error))
    extra = state.get("extra_state") or {}
    is_best = extra.get("val_loss") is not None and extra["val_loss"] == extra.get("best")
    return Health(path, updates=resumable_updates(state), is_best=is_best)


def resumable_updates(state: Checkpoint) -> int | None:
    """Return after how many updates a training goes on from `state`; None where fairseq would begin at 0.

    An average has no optimizer state, and neither has what was saved with --no-save-optimizer-state.
    """
    last = (state.get("optimizer_history") or [{}])[-1]
    # before `last_optimizer_state`, fairseq kept the optimizer's state in the history
    optimizer = state.get("last_optimizer_state", last.get("optimizer"))
    position = (state.get("extra_state") or {}).get("train_iterator")
    updates = last.get("num_updates")
    return updates if optimizer is not None and position is not None and isinstance(updates, int) else None
