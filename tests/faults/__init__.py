"""A harness that does what goes wrong, on purpose: kills, bad input, damaged files, odd models. See docs/faults.md."""
