"""Training objectives.

Imports `modules` only.
"""
