"""Checkpoints as fairseq writes them, of any tensors."""

from pathlib import Path
from typing import Any

import torch

Model = dict[str, Any]


def fairseq_checkpoint(model: Model, *, updates: int = 40, epoch: int = 4, cfg: object = None) -> dict[str, Any]:
    """All that fairseq 0.12's trainer writes."""
    return {
        "args": None,
        "cfg": cfg or {"model": {"arch": "transformer_rope"}},
        "model": model,
        "criterion": None,
        "optimizer_history": [
            {
                "criterion_name": "CrossEntropyCriterion",
                "optimizer_name": "FairseqAdam",
                "lr_scheduler_state": {"best": None},
                "num_updates": updates,
            }
        ],
        "task_state": {},
        "extra_state": {
            "metrics": {},
            "previous_training_time": 1.5,
            "train_iterator": {"epoch": epoch + 1, "iterations_in_epoch": 0, "shuffle": True},
            "val_loss": 3.25,
            "ema": {"w": torch.ones(3)},
        },
        "last_optimizer_state": {"state": {0: {"exp_avg": torch.ones(7)}}},
    }


def save(path: Path, model: Model, **settings: Any) -> Path:
    torch.save(fairseq_checkpoint(model, **settings), path)
    return path


def save_all(folder: Path, models: list[Model]) -> list[Path]:
    return [save(folder / f"checkpoint{i}.pt", model, updates=10 * i) for i, model in enumerate(models, start=1)]
