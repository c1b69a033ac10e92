"""The runs in a recipe's work folder as statistics, tables and curves.

Imports `scoring` and `fairseq_rope_data`.
"""
