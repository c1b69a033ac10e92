"""Compiled matrix products are dropped early: text of many lengths would fill memory with them.

Symptom: a translator of mixed text on a CPU grows to nearly twice its size, and is no faster for it: oneDNN and ideep,
below torch, each keep a compiled product for every shape that they meet, 1,024 of them.
All versions of torch; can go when the two keep fewer by themselves, or as many as fit into a given memory.
"""

import os
from collections.abc import MutableMapping

CAPACITY = "64"  # products; a training batch or a step of a search needs fewer
_SETTINGS = ("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "LRU_CACHE_CAPACITY")


def keep_few_products(environment: MutableMapping[str, str] = os.environ) -> None:
    """Set what the user has not set; the libraries read it when torch is first imported."""
    for name in _SETTINGS:
        environment.setdefault(name, CAPACITY)
