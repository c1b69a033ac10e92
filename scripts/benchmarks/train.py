"""Training through fairseq's own Trainer: target tokens a second."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch

from benchmarks.setup import parse, training_options
from benchmarks.worker import Repetition, timed


def measurement(spec: dict[str, Any]) -> Callable[[], Repetition]:
    """Build model, criterion, trainer and batches as fairseq-train does; a repetition is `spec["updates"]` updates.

    Both models see the same batches in the same order: it depends on data and seed alone.
    """
    from fairseq import tasks, utils
    from fairseq.trainer import Trainer

    options = training_options(
        spec["model"], spec["size"], Path(spec["data"]), spec["max_tokens"], spec["number_type"], spec["device"]
    )
    cfg = parse(options)
    utils.import_user_module(cfg.common)
    torch.manual_seed(cfg.common.seed)
    task = tasks.setup_task(cfg.task)
    model, criterion = task.build_model(cfg.model), task.build_criterion(cfg.criterion)
    if spec.get("rotation") == "off":
        for stack in (model.encoder, model.decoder):
            stack.rotary.rotation = lambda x, cos, sin: x
    trainer = Trainer(cfg, task, model, criterion)
    batches = _batches(trainer)

    def repeat() -> Repetition:
        samples = [next(batches) for _ in range(spec["updates"])]
        seconds = timed(lambda: [trainer.train_step([sample]) for sample in samples] and None, spec["device"])
        return Repetition(seconds, sum(int(sample["ntokens"]) for sample in samples))

    return repeat


def _batches(trainer: Any) -> Iterator[dict[str, Any]]:
    iterator = trainer.get_train_iterator(epoch=1)
    trainer.lr_step_begin_epoch(1)
    while True:
        yield from iterator.next_epoch_itr(shuffle=True)
