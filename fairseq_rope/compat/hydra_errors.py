"""An error under `fairseq-hydra-train` is told as it is.

Symptom: whatever is wrong, such as a misspelt option, the last line is "TypeError: print_exception() got an unexpected
keyword argument 'etype'", below a second traceback: hydra 1.0 calls Python's function as it was before 3.10.
fairseq 0.12.2 alone, for the main branch takes a newer hydra; can go with Python 3.10.
"""

from collections.abc import Callable
from typing import Any

from hydra._internal import utils

from fairseq_rope.compat.wrapping import wrap


def print_hydra_errors() -> None:
    """Leave out what Python's function no longer takes."""
    if hasattr(utils, "print_exception"):  # newer hydra has it from Python when it needs it
        wrap(utils, "print_exception", _print)


def _print(print_exception: Callable[..., None], exc: Any = None, *, etype: Any = None, **options: Any) -> None:
    print_exception(exc, **options)  # it finds the type by itself, as `etype` never mattered
