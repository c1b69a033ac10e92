"""How long OpenMP's threads spin, as OpenMP itself says."""

import os
import re
import subprocess
import sys

import pytest

from fairseq_rope.compat.openmp import SPIN_COUNT, spin_briefly
from tests.support import ROOT


def spin_count(**settings: str) -> str:
    """What GNU's OpenMP shows of its settings in a process that starts as every tool does."""
    kept = {name: value for name, value in os.environ.items() if name not in ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT")}
    done = subprocess.run(
        [sys.executable, "-c", "import fairseq_rope"],
        env={**kept, "OMP_DISPLAY_ENV": "VERBOSE", "OMP_NUM_THREADS": "1", **settings},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    found = re.search(r"GOMP_SPINCOUNT = '(\w+)'", done.stderr)
    assert found, done.stderr
    return found[1]


def test_threads_of_a_tool_spin_briefly():
    assert spin_count() == SPIN_COUNT


def test_a_users_own_setting_is_kept():
    assert spin_count(GOMP_SPINCOUNT="777") == "777"


@pytest.mark.parametrize("name", ["OMP_WAIT_POLICY", "GOMP_SPINCOUNT"])
def test_either_setting_is_a_users_choice(name: str):
    environment = {name: "1"}
    spin_briefly(environment)
    assert environment == {name: "1"}
