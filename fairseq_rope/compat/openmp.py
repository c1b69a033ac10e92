"""Threads that wait for each other give up their core early: a busy machine would stop them all.

Symptom: where another program has taken the core of the thread that all wait for, training runs at half its speed or
less, because GNU's OpenMP, on which torch stands on Linux, lets a waiting thread spin for 300,000 rounds. With 10,000
rounds it is as fast when alone (`scripts/benchmark_waiting.py`).
All versions of torch; can go when torch's OpenMP spins more briefly by itself.
"""

import os
from collections.abc import MutableMapping

# any of them is a user's own choice
_SETTINGS = ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT")
SPIN_COUNT = "10000"


def spin_briefly(environment: MutableMapping[str, str] = os.environ) -> None:
    """Set `GOMP_SPINCOUNT` where the user has set nothing; OpenMP reads it when torch is first imported."""
    if not any(environment.get(name) for name in _SETTINGS):
        environment["GOMP_SPINCOUNT"] = SPIN_COUNT
