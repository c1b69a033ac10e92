"""What the benchmarks in scripts are made of."""
