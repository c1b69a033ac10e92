"""Load the models of `--path` for translation, safely and with errors of one line."""

import ast
import contextlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from fairseq import checkpoint_utils, utils
from fairseq.models import FairseqEncoderModel

from fairseq_rope.checkpoints.files import Checkpoint, load_checkpoint
from fairseq_rope_data.errors import UserError


def load_ensemble(cfg: Any, task: Any, *, use_cuda: bool) -> list[Any]:
    """Load one model, or several that translate together, in evaluation mode and the precision that `cfg` asks for.

    Raises:
        UserError: a file is damaged, wants to run code or isn't a checkpoint; a model doesn't fit the dictionaries, or
            has no decoder.
    """
    models = load_models(
        utils.split_paths(cfg.common_eval.path),
        task=task,
        data=cfg.task.data,
        overrides=parse_overrides(cfg.common_eval.model_overrides),
        suffix=cfg.checkpoint.checkpoint_suffix,
        shards=cfg.checkpoint.checkpoint_shard_count,
    )
    for model in models:
        if isinstance(model, FairseqEncoderModel):
            raise UserError(
                f"--path {cfg.common_eval.path} must be an encoder-decoder model, but is a {type(model).__name__}"
            )
        if cfg.common.fp16:
            model.half()
        elif cfg.common.bf16:
            model.bfloat16()
        if use_cuda:
            model.cuda()
        model.prepare_for_inference_(cfg)
    return models


def load_models(
    paths: Sequence[str],
    *,
    task: Any,
    data: str,
    overrides: dict[str, Any] | None = None,
    suffix: str = "",
    shards: int = 1,
) -> list[Any]:
    """Load one model for each of `paths`, as they were trained but for `overrides`, in evaluation mode.

    `data` is named in errors.

    Raises:
        UserError: see `load_ensemble`.
    """
    with _one_line(paths, data, whole=not suffix and shards == 1):
        models, _ = checkpoint_utils.load_model_ensemble(
            list(paths), arg_overrides=overrides, task=task, suffix=suffix, strict=shards == 1, num_shards=shards
        )
    # in training mode, layers that --encoder-layerdrop drops would be missing
    return [model.eval() for model in models]


def load_with_task(path: str, *, data: str, overrides: dict[str, Any] | None = None) -> tuple[Any, Any]:
    """Load a model and the task that it was trained in, on `data`; the model in evaluation mode on the CPU.

    All is as it was trained, but for `overrides`.

    Raises:
        UserError: see `load_ensemble`.
    """
    with _one_line([path], data):
        # a task that scores translations would build its tokenizer and search
        chosen = {**(overrides or {}), "data": data, "eval_bleu": False}
        (model,), _, task = checkpoint_utils.load_model_ensemble_and_task([path], arg_overrides=chosen)
    return model.eval(), task


def load_upgraded(path: Path) -> Checkpoint:
    """Read a checkpoint as fairseq upgrades it: it has `cfg`, also where the file has `args`.

    Raises:
        UserError: see `load_checkpoint`; or it is of a fairseq that nobody has any more.
    """
    load_checkpoint(path)  # for its checks, whose errors say what is wrong with a file
    try:
        return checkpoint_utils.load_checkpoint_to_cpu(str(path))
    except UserError:  # of the checks in compat/
        raise
    except Exception as error:
        raise UserError(f"cannot load {path}: {brief(error)}") from error


@contextlib.contextmanager
def _one_line(paths: Sequence[str], data: str, *, whole: bool = True) -> Iterator[None]:
    """Tell what goes wrong while `paths` are loaded; files that are `whole` are looked at themselves."""
    try:
        yield
    except UserError:  # of the checks in compat/
        raise
    except Exception as error:  # a wrong dictionary, an arch of another plugin, an old file: each raises its own
        if whole:
            for path in paths:
                load_checkpoint(Path(path))  # only for its checks, whose errors say what is wrong with a file
        raise UserError(f"--path {os.pathsep.join(paths)} does not fit DATA {data}: {brief(error)}") from error


def brief(error: Exception) -> str:
    """Return an error's text as one line of at most 300 characters or so."""
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= 300 else f"{text[:300]} ..."


def parse_overrides(text: str) -> dict[str, Any]:
    """Read the text of --model-overrides.

    Raises:
        UserError: it is no dictionary of names.
    """
    try:
        overrides = ast.literal_eval(text)
    except (SyntaxError, ValueError, TypeError, MemoryError, RecursionError):
        overrides = None
    if not isinstance(overrides, dict) or not all(isinstance(name, str) for name in overrides):
        raise UserError(f"--model-overrides must be a Python dictionary of options, but is {text!r}")
    return overrides
