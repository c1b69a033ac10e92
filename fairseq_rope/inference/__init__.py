"""Translation of raw text: from a line to tokens, through an engine, and back to a line.

Imports `checkpoints`, `export`, `scoring` and `fairseq_rope_data`.
"""
