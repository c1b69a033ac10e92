"""`--bf16` on GPUs and CPUs: fairseq's command lines take it for the sign of a TPU."""

import importlib.util
from collections.abc import Callable
from typing import Any

from fairseq import options

from fairseq_rope.compat.wrapping import wrap


def allow_bf16_without_tpu() -> None:
    """Let `--bf16` train on what the machine has.

    fairseq sets `--tpu` wherever it reads `--bf16`, which then fails for lack of torch_xla. A `--user-dir` is
    imported before the options are read, so `--tpu` can be taken back where torch_xla isn't installed.
    """
    if not importlib.util.find_spec("torch_xla"):
        wrap(options, "parse_args_and_arch", _parse_without_tpu)


def _parse_without_tpu(parse: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    parsed = parse(*args, **kwargs)
    # with parse_known=True it is a pair
    namespace = parsed[0] if isinstance(parsed, tuple) else parsed
    if getattr(namespace, "bf16", False):
        namespace.tpu = False
    return parsed
