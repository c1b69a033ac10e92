"""How long idle threads should wait for each other."""
