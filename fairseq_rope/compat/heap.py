"""Memory that is freed stays with the process, which needs it again in its next step.

Symptom: on a CPU a training step now and then takes much longer than the one before, in the system and not in itself.
glibc gives large freed tensors back to the system, takes them anew for the next batch, and the system clears every page
again. All versions of torch on glibc; can go when torch's allocator on the CPU keeps what is freed.
"""

import ctypes
import os
from collections.abc import Callable, Mapping

# of glibc's malloc.h: never a mapping of its own, and the heap's end is never given back
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
_GREATEST = 2**31 - 1
_GREATEST_OF_OLD = 2**25  # a mapping's threshold in older versions of glibc, which refuse a greater one
# any of them is a user's own choice
_SETTINGS = ("MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_", "MALLOC_TOP_PAD_", "MALLOC_MMAP_MAX_")


def is_users_choice(environment: Mapping[str, str] = os.environ) -> bool:
    """Return whether the user has set how glibc's allocator works."""
    tunables = environment.get("GLIBC_TUNABLES", "")
    return "glibc.malloc" in tunables or any(environment.get(name) for name in _SETTINGS)


def keep_freed_memory() -> None:
    """Tell glibc's allocator to keep what is freed, unless the user has set how it works."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)  # other C libraries have none
    if mallopt and not is_users_choice():
        raise_thresholds(mallopt)


def raise_thresholds(mallopt: Callable[[int, int], int]) -> None:
    """Raise both thresholds as far as this version of glibc lets them, by its `mallopt` (0: refused)."""
    # once either is set glibc no longer adapts the other: the end of the heap only where mappings are settled
    if mallopt(_MMAP_THRESHOLD, _GREATEST) or mallopt(_MMAP_THRESHOLD, _GREATEST_OF_OLD):
        mallopt(_TRIM_THRESHOLD, _GREATEST)
