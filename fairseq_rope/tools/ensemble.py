"""Load the models of `--path` for translation, safely and with errors of one line."""

import ast
from pathlib import Path
from typing import Any

from fairseq import checkpoint_utils, utils

from fairseq_rope.tools._common import ToolError
from fairseq_rope.tools.checkpoints import load_checkpoint


def load_ensemble(cfg: Any, task: Any, *, use_cuda: bool) -> list[Any]:
    """Load one model, or several that translate together, in evaluation mode and the precision that `cfg` asks for.

    Raises:
        ToolError: a file is damaged, wants to run code or isn't a checkpoint; a model doesn't fit the dictionaries.
    """
    paths = utils.split_paths(cfg.common_eval.path)
    suffix, shards = cfg.checkpoint.checkpoint_suffix, cfg.checkpoint.checkpoint_shard_count
    if not suffix and shards == 1:
        for path in paths:
            load_checkpoint(Path(path))  # only for its checks, whose errors say what is wrong
    overrides = _overrides(cfg.common_eval.model_overrides)
    try:
        models, _ = checkpoint_utils.load_model_ensemble(
            paths, arg_overrides=overrides, task=task, suffix=suffix, strict=shards == 1, num_shards=shards
        )
    except Exception as error:  # a wrong dictionary, an arch of another plugin, an old file: each raises its own
        raise ToolError(f"--path {cfg.common_eval.path} does not fit DATA {cfg.task.data}: {brief(error)}") from error
    for model in models:
        if cfg.common.fp16:
            model.half()
        elif cfg.common.bf16:
            model.bfloat16()
        if use_cuda:
            model.cuda()
        model.prepare_for_inference_(cfg)
    return list(models)


def brief(error: Exception) -> str:
    """Give an error's text as one line of bearable length."""
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= 300 else f"{text[:300]} ..."


def _overrides(text: str) -> dict[str, Any]:
    try:
        overrides = ast.literal_eval(text)
    except (SyntaxError, ValueError) as error:
        raise ToolError(f"--model-overrides must be a Python dictionary, but is {text!r}") from error
    if not isinstance(overrides, dict):
        raise ToolError(f"--model-overrides must be a Python dictionary, but is {text!r}")
    return overrides
