"""Commands, each `python -m fairseq_rope.tools.X`: a parser and a call.

Imports all rooms; no room imports it.
"""
