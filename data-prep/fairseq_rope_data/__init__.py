"""Preparation of parallel text, without torch; each program is `python -m fairseq_rope_data.NAME`."""
