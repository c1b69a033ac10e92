"""What torch's libraries keep of matrix products: few, unless a user says otherwise."""

import os
import subprocess
import sys

from fairseq_rope.compat.product_caches import CAPACITY, keep_few_products
from tests.support import ROOT

NAMES = ("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "LRU_CACHE_CAPACITY")
# the growth of memory by 400 products of different shapes
PROGRAM = """
import fairseq_rope, pathlib, torch
from fairseq_rope.modules.cpu.linear import linear
weight = torch.zeros(1024, 1024)
def pages():  # the peak would be that of the process that this one was forked from
    return int(pathlib.Path("/proc/self/statm").read_text().split()[1])
def grow(shapes):
    before = pages()
    for rows in shapes:
        linear(torch.zeros(rows, 1024), weight, None)
    return pages() - before
grow(range(2, 100))
print(grow(range(100, 500)))
"""


def growth(**settings: str) -> int:
    kept = {name: value for name, value in os.environ.items() if name not in NAMES}
    settings["FAIRSEQ_ROPE_PRODUCTS"] = "onednn"  # on a processor where they would not be
    command = [sys.executable, "-c", PROGRAM]
    done = subprocess.run(command, env={**kept, **settings}, cwd=ROOT, capture_output=True, text=True, check=True)
    return int(done.stdout)


def test_products_of_many_shapes_do_not_fill_memory():
    few = growth()
    many = growth(**dict.fromkeys(NAMES, "1024"))
    assert few < many / 2


def test_a_users_own_setting_is_kept():
    environment = {NAMES[0]: "7"}
    keep_few_products(environment)
    assert environment == {NAMES[0]: "7", NAMES[1]: CAPACITY}
