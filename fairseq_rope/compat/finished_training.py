"""A training that has made `--max-update` updates and is started again ends at once.

Symptom: fairseq-train looks at `--max-update` only after an update, so that a training which was killed after its last
one, or is started once more, makes one update more and overwrites its last checkpoints.
fairseq 0.12.2 and main; can go when `fairseq_cli.train.main` compares before it calls `train`.
"""

import functools
import logging
import sys
from typing import Any

logger = logging.getLogger(__name__)


def end_finished_trainings() -> None:
    """Let the running fairseq-train compare before each epoch; nothing in other commands."""
    for name in ("fairseq_cli.train", "__main__"):
        module = sys.modules.get(name)
        train = getattr(module, "train", None)
        if not hasattr(module, "validate_and_save") or hasattr(train, "ends_when_finished"):
            continue
        module.train = _ending(train)  # type: ignore[union-attr]


def _ending(train: Any) -> Any:
    @functools.wraps(train)
    def train_or_end(cfg: Any, trainer: Any, *args: Any) -> tuple[list[float | None], bool]:
        most, done = cfg.optimization.max_update, trainer.get_num_updates()
        if not most or done < most:
            result: tuple[list[float | None], bool] = train(cfg, trainer, *args)
            return result
        logger.info("nothing to train: %d updates are made, and --max-update is %d", done, most)
        return [None], True

    vars(train_or_end)["ends_when_finished"] = True
    return train_or_end
