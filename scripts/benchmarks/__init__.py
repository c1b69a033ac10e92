"""What the benchmarks are made of: a room for each program, and what they share.

They measure the package that lies beside them, whichever is installed: fairseq imports no second one of its name.
"""

import sys
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(_ROOT), str(_ROOT / "data-prep")]
