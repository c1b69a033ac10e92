"""A training step on sentences of one length: seconds and peak memory as the length grows."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from benchmarks.setup import parse, training_options
from benchmarks.worker import Repetition, timed


def measurement(spec: dict[str, Any]) -> Callable[[], Repetition]:
    """Build model and criterion; a repetition is forward and backward of `sentences` pairs of `length` random tokens."""
    from fairseq import tasks, utils

    length, sentences, device = spec["length"], spec["sentences"], spec["device"]
    limit = ["--max-source-positions", str(length + 1), "--max-target-positions", str(length + 1)]
    number_type = spec["number_type"]
    options = training_options(spec["model"], spec["size"], Path(spec["data"]), length * sentences, number_type, device)
    cfg = parse([*options, *limit])
    utils.import_user_module(cfg.common)
    torch.manual_seed(cfg.common.seed)
    task = tasks.setup_task(cfg.task)
    model, criterion = task.build_model(cfg.model).to(device), task.build_criterion(cfg.criterion)
    model.to({"fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}[number_type]).train()
    tokens = torch.randint(5, len(task.target_dictionary), (sentences, length), device=device)
    net_input = {
        "src_tokens": tokens,
        "src_lengths": tokens.new_full((sentences,), length),
        "prev_output_tokens": tokens.roll(1, dims=1),
    }
    sample = {"net_input": net_input, "target": tokens, "ntokens": tokens.numel()}

    def step() -> None:
        model.zero_grad(set_to_none=True)
        loss, *_ = criterion(model, sample)
        loss.backward()

    return lambda: Repetition(timed(step, device), tokens.numel(), sentences)
