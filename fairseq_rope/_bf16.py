"""`--bf16` on GPUs and CPUs: fairseq's command lines take it for the sign of a TPU."""

import functools
import importlib.util
from typing import Any

from fairseq import options


def allow_bf16_without_tpu() -> None:
    """Let `--bf16` train on what the machine has.

    fairseq sets `--tpu` wherever it reads `--bf16`, which then fails for lack of torch_xla. A `--user-dir` is
    imported before the options are read, so `--tpu` can be taken back where torch_xla isn't installed.
    """
    parse = options.parse_args_and_arch
    if importlib.util.find_spec("torch_xla") or hasattr(parse, "__wrapped__"):
        return

    @functools.wraps(parse)
    def parse_without_tpu(*args: Any, **kwargs: Any) -> Any:
        parsed = parse(*args, **kwargs)
        # with parse_known=True it is a pair
        namespace = parsed[0] if isinstance(parsed, tuple) else parsed
        if getattr(namespace, "bf16", False):
            namespace.tpu = False
        return parsed

    options.parse_args_and_arch = parse_without_tpu
