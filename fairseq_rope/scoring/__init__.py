"""Scores of translations with their signatures, paired bootstrap, and checks of the text that is scored.

Imports `fairseq_rope_data` only.
"""
