"""The runs in a recipe's work folder, and models' attention by distance, as statistics, tables and curves.

Imports `models`, `modules`, `checkpoints`, `scoring` and `fairseq_rope_data`.
"""
