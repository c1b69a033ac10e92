"""A trained model in the form of another runtime, a room for each.

Imports `models`, `modules`, `checkpoints` and `fairseq_rope_data`.
"""
