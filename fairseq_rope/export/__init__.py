"""A trained model in the form of another runtime or library, a room for each.

Imports `models`, `modules`, `checkpoints`, `compat` and `fairseq_rope_data`.
"""
