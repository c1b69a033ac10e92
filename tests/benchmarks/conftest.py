"""Tests import scripts/benchmarks as the programs of scripts do: from their own folder."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))
