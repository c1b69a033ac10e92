"""A training that has made `--max-update` updates and is started again ends at once.

Symptom: fairseq-train looks at `--max-update` only after an update, so that a training which was killed after its last
one, or is started once more, makes one update more and overwrites its last checkpoints.
fairseq 0.12.2 and main; can go when `fairseq_cli.train.main` compares before it calls `train`.
"""

import logging
import sys
from collections.abc import Callable
from typing import Any

from fairseq_rope.compat.wrapping import wrap

logger = logging.getLogger(__name__)


def end_finished_trainings() -> None:
    """Compare before each epoch of the running fairseq-train; nothing is changed in other commands."""
    for name in ("fairseq_cli.train", "__main__"):
        module = sys.modules.get(name)
        if hasattr(module, "validate_and_save"):  # as no other program has
            wrap(module, "train", _train_or_end)


def _train_or_end(train: Callable[..., Any], cfg: Any, trainer: Any, *args: Any) -> Any:
    limit, updates = cfg.optimization.max_update, trainer.get_num_updates()
    if not limit or updates < limit:
        return train(cfg, trainer, *args)
    logger.info("nothing to train: %d updates are made, and --max-update is %d", updates, limit)
    return [None], True  # no validation losses, and the end
