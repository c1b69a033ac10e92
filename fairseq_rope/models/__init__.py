"""The models that `--arch` names.

Imports `modules` and `compat`.
"""
