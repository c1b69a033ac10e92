"""Quirks of fairseq, torch and their libraries, a file each: symptom, versions, and when the file can go.

`everything` and the package's `__init__` apply them. Imports `fairseq_rope_data` only.
"""
