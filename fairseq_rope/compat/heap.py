"""Memory that is freed stays with the process, which needs it again in its next step.

Symptom: on a CPU a training step now and then takes much longer than the one before, in the system and not in itself.
glibc gives large freed tensors back to the system, takes them anew for the next batch, and the system clears every page
again. All versions of torch on glibc; can go when torch's allocator on the CPU keeps what is freed.
"""

import contextlib
import ctypes
import os
from collections.abc import Mapping

# of glibc's malloc.h, with their greatest values: never a mapping of its own, and the heap's end is never given back
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
_GREATEST = 2**31 - 1
# any of them is a user's own choice
_SETTINGS = ("MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_", "MALLOC_TOP_PAD_", "MALLOC_MMAP_MAX_")


def keep_freed_memory(environment: Mapping[str, str] = os.environ) -> bool:
    """Tell glibc's allocator to keep what is freed, unless the user has set how it works; return whether it does."""
    if any(environment.get(name) for name in _SETTINGS) or "glibc.malloc" in environment.get("GLIBC_TUNABLES", ""):
        return False
    with contextlib.suppress(AttributeError, OSError):  # another C library
        set_option = ctypes.CDLL(None).mallopt
        return all([set_option(option, _GREATEST) for option in (_MMAP_THRESHOLD, _TRIM_THRESHOLD)])
    return False
