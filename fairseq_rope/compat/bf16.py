"""`--bf16` on GPUs and CPUs.

Symptom: training and other commands with `--bf16` fail for lack of torch_xla, for fairseq sets `--tpu` wherever it
reads `--bf16`. fairseq 0.12.2 and main; can go when `fairseq.options.parse_args_and_arch` leaves `--tpu` alone.
"""

import importlib.util
from collections.abc import Callable
from typing import Any

from fairseq import options

from fairseq_rope.compat.wrapping import wrap


def allow_bf16_without_tpu() -> None:
    """Take `--tpu` back after options are read; a `--user-dir` is imported before that.

    Where torch_xla is installed fairseq's choice stays.
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
