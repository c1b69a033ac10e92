"""What fairseq saves: checkpoint files, their models, average and repair, and the folder of fairseq-preprocess.

Imports `compat` and `fairseq_rope_data`.
"""
