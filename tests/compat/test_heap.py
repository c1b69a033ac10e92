"""Freed memory stays with the process, as the system counts it."""

import os
import subprocess
import sys

import pytest

from fairseq_rope.compat.heap import _SETTINGS, is_users_choice, raise_thresholds
from tests.support import ROOT

# pages that the process still has of a tensor of 64 MiB that it has freed
PROGRAM = """
import fairseq_rope, pathlib, torch
def pages():
    return int(pathlib.Path("/proc/self/statm").read_text().split()[1])
before = pages()
x = torch.ones(2**24)
del x
print(pages() - before)
"""
PAGES = 2**26 // os.sysconf("SC_PAGE_SIZE")


def kept_pages(**settings: str) -> int:
    others = {name: value for name, value in os.environ.items() if name not in (*_SETTINGS, "GLIBC_TUNABLES")}
    command = [sys.executable, "-c", PROGRAM]
    done = subprocess.run(command, env={**others, **settings}, cwd=ROOT, capture_output=True, text=True, check=True)
    return int(done.stdout)


def test_memory_of_a_freed_tensor_stays():
    assert kept_pages() > PAGES * 3 / 4


def test_a_users_own_setting_is_kept():
    assert kept_pages(MALLOC_MMAP_THRESHOLD_="131072") < PAGES / 4


@pytest.mark.parametrize("name", _SETTINGS)
def test_each_setting_is_a_users_choice(name: str):
    assert is_users_choice({name: "1"}) and not is_users_choice({name: ""})


def test_tunables_of_the_allocator_are_a_users_choice():
    assert is_users_choice({"GLIBC_TUNABLES": "glibc.rtld.nns=4:glibc.malloc.trim_threshold=1"})
    assert not is_users_choice({"GLIBC_TUNABLES": "glibc.rtld.nns=4"})


@pytest.mark.parametrize(
    ("limit", "expected"),
    [(2**31 - 1, {-3: 2**31 - 1, -1: 2**31 - 1}), (2**25, {-3: 2**25, -1: 2**31 - 1}), (0, {})],
    ids=["today's glibc", "older", "none"],
)
def test_the_end_of_the_heap_is_kept_only_where_mappings_are_settled(limit: int, expected: dict[int, int]):
    # alone it would leave the threshold of mappings at 128 KiB for good: each tensor would be mapped and cleared anew
    accepted: dict[int, int] = {}

    def mallopt(option: int, value: int) -> int:
        if option == -3 and value > limit:
            return 0
        accepted[option] = value
        return 1

    raise_thresholds(mallopt)
    assert accepted == expected
