"""What scripts/benchmark_prepare.py is made of."""
