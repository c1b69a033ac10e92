"""CTranslate2, an optional package: imported when it is asked for, with an error that says how to get it."""

import importlib
import re
from typing import Any

from fairseq_rope_data.errors import UserError

# the first that rotates in encoders too
_LEAST = (4, 6, 3)
_COMMAND = f"pip install 'ctranslate2>={'.'.join(map(str, _LEAST))}'"


def require_ctranslate2() -> Any:
    """Import the package.

    Raises:
        UserError: it is not installed, cannot be imported, or is too old.
    """
    try:
        package: Any = importlib.import_module("ctranslate2")
    except ImportError as error:
        raise UserError(f"the package ctranslate2 (extra `export`) cannot be imported: {_COMMAND} ({error})") from error
    version = tuple(map(int, re.findall(r"\d+", package.__version__)[:3]))
    if version < _LEAST:
        raise UserError(f"the package ctranslate2 must be newer than {package.__version__}: {_COMMAND}")
    return package


def device_of(package: Any, *, cpu: bool = False) -> str:
    """Return `cuda` if there is a GPU and `cpu` is not asked for, or else `cpu`."""
    return "cuda" if not cpu and package.get_cuda_device_count() > 0 else "cpu"


def share_threads(inter: int | None, intra: int | None, *, cores: int, batches: int) -> tuple[int, int]:
    """Share cores out among batches: the threads of one wait for each other after every product, batches don't.

    Args:
        inter: how many batches are searched at the same time, if that is given.
        intra: how many threads each has, if that is given.
        cores: to use.
        batches: how many there can be at the same time.

    Returns: both numbers, at least 1.
    """
    inter = inter or max(1, min(batches, cores // (intra or 1)))
    return inter, intra or max(1, cores // inter)


def check_compute_type(package: Any, compute_type: str, device: str, *, named: str) -> None:
    """Check that a device computes in a type; the runtime would take another one with a warning only.

    Args:
        package: what `require_ctranslate2` returns.
        compute_type: such as int8.
        device: cpu or cuda.
        named: what asks for the type, the start of the error.

    Raises:
        UserError: the device cannot; those that it can are named.
    """
    supported = package.get_supported_compute_types(device)
    if compute_type not in supported:
        raise UserError(
            f"{named} {compute_type} cannot be computed on this machine's {device}; --compute-type can be "
            f"{', '.join(sorted(supported))}"
        )
