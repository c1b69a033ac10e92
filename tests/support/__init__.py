"""What tests of several rooms use."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
