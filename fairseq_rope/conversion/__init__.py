"""A checkpoint of fairseq's `transformer` becomes a rotary one: the new file, and the options that train it on.

Imports `checkpoints`, `models`, `compat` and `fairseq_rope_data`.
"""
