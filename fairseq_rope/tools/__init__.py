"""Command-line tools, each `python -m fairseq_rope.tools.X` and importable."""
