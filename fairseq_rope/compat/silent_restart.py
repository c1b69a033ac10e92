"""A training that would start from nothing, or with a new optimizer, in the folder of an earlier one is an error.

Symptom: without checkpoint_last.pt fairseq-train says "No existing checkpoint found", starts at epoch 1 and overwrites
the checkpoints of --save-dir. With an average as checkpoint_last.pt it goes on at its epoch, but at 0 updates.
fairseq 0.12.2 and main; can go when fairseq itself refuses both.
"""

import os
from collections.abc import Callable
from typing import Any

from fairseq import checkpoint_utils
from fairseq.file_io import PathManager

from fairseq_rope.compat.checkpoint_names import LAST, is_set_aside, training_files
from fairseq_rope.compat.wrapping import wrap


def stop_silent_restarts() -> None:
    """Check before and after `checkpoint_utils.load_checkpoint`, with which every training starts."""
    wrap(checkpoint_utils, "load_checkpoint", _load_or_stop)


def _load_or_stop(load: Callable[..., Any], cfg: Any, trainer: Any, **passthrough_args: Any) -> Any:
    check_start(cfg, trainer.checkpoint_suffix)
    loaded = load(cfg, trainer, **passthrough_args)
    check_resume(cfg, trainer)
    return loaded


def check_start(cfg: Any, suffix: str) -> None:
    """Raise if a training with the options `cfg` would start from nothing over the checkpoints of an earlier one.

    Args:
        cfg: fairseq's checkpoint options.
        suffix: what fairseq puts before `.pt`: --checkpoint-suffix, or the rank's shard.

    Raises:
        ValueError: names --save-dir, the files and what to do.
    """
    if cfg.no_save or PathManager.isfile(_restore_path(cfg, suffix)) or not PathManager.exists(cfg.save_dir):
        return
    names = training_files(PathManager.ls(cfg.save_dir))
    if not names:
        return
    if all(map(is_set_aside, names)):
        advice = "move them elsewhere to start anew"
    else:
        advice = (
            f"python -m fairseq_rope.tools.repair {cfg.save_dir} makes {LAST} from the newest, --restore-file names "
            f"another, and another --save-dir starts anew"
        )
    missing = _restore_path(cfg, suffix)
    if cfg.restore_file != LAST and not os.path.isabs(missing):
        missing = f"{missing} in the working folder, {os.getcwd()}"
    raise ValueError(
        f"--save-dir {cfg.save_dir} holds an earlier training ({_listed(names)}), but there is no {missing}, so that "
        f"this one would start from nothing: {advice}"
    )


def check_resume(cfg: Any, trainer: Any) -> None:
    """Raise if what was loaded from --save-dir has made updates, but the trainer stands at none: no optimizer state.

    Raises:
        ValueError: names the file and what to do.
    """
    if cfg.restore_file != LAST or cfg.reset_optimizer or cfg.no_save_optimizer_state:
        return
    path = _restore_path(cfg, trainer.checkpoint_suffix)
    # --finetune-from-model resets the optimizer itself, where there is no checkpoint_last.pt
    if not PathManager.isfile(path) or trainer.get_num_updates():
        return
    updates = trainer._optim_history[-1].get("num_updates") if trainer._optim_history else None
    if updates:
        raise ValueError(
            f"{path} has made {updates} updates, but has no optimizer state, as an average has none, so that this "
            f"training would go on at 0 updates: move it elsewhere, or give --reset-optimizer if that is meant"
        )


def _restore_path(cfg: Any, suffix: str) -> str:
    """Return the file from which fairseq goes on, as its load_checkpoint chooses it."""
    name = cfg.restore_file.replace(".pt", f"{suffix}.pt")
    return os.path.join(cfg.save_dir, name) if cfg.restore_file == LAST else name


def _listed(names: list[str]) -> str:
    shown = ", ".join(names[:3])
    return shown if len(names) <= 3 else f"{shown} and {len(names) - 3} more"
