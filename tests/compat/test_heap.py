"""Freed memory stays with the process, as the system's own counts of it show."""

import os
import subprocess
import sys

import pytest

from fairseq_rope.compat.heap import _SETTINGS, keep_freed_memory
from tests.support import ROOT

# pages that the system cleared while a tensor of 64 MiB was made and freed again and again
PROGRAM = """
import fairseq_rope, resource, torch
def pages():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt
torch.ones(2**24)
before = pages()
for _ in range(8):
    torch.ones(2**24)
print(pages() - before)
"""
PAGES = 2**26 // os.sysconf("SC_PAGE_SIZE")  # of one tensor


def cleared(**settings: str) -> int:
    kept = {name: value for name, value in os.environ.items() if name not in (*_SETTINGS, "GLIBC_TUNABLES")}
    command = [sys.executable, "-c", PROGRAM]
    done = subprocess.run(command, env={**kept, **settings}, cwd=ROOT, capture_output=True, text=True, check=True)
    return int(done.stdout)


def test_memory_of_a_freed_tensor_is_used_again():
    assert cleared() < PAGES / 4


def test_a_users_own_setting_is_kept():
    # glibc's own way: each tensor above 32 MiB gets new pages, in huge pages at the most
    assert cleared(MALLOC_MMAP_THRESHOLD_="131072", GLIBC_TUNABLES="glibc.malloc.hugetlb=0") > PAGES / 4


@pytest.mark.parametrize("name", _SETTINGS)
def test_each_setting_is_a_users_choice(name: str):
    assert not keep_freed_memory({name: "1"})


def test_tunables_of_the_allocator_are_a_users_choice():
    assert not keep_freed_memory({"GLIBC_TUNABLES": "glibc.malloc.trim_threshold=1"})
    assert keep_freed_memory({"GLIBC_TUNABLES": "glibc.rtld.nns=4"}) == keep_freed_memory({})
