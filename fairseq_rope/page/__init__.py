"""One self-contained HTML page of an experiment: what was asked, what came out, how sure it is, and how to repeat it.

Imports `experiments`, `scoring` and `fairseq_rope_data`.
"""
