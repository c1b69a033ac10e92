"""Faster ways on a CPU to compute what fairseq's layers do."""
