"""What tests of several rooms use."""

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

# which library computes products is measured in each process, and where two are as fast, processes may choose
# differently: what tests and the fault harness compare to the last bit comes from several
os.environ.setdefault("FAIRSEQ_ROPE_PRODUCTS", "onednn")
