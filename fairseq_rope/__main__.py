"""`python -m fairseq_rope` prints the folder to give to fairseq's --user-dir."""

from pathlib import Path

print(Path(__file__).parent)
