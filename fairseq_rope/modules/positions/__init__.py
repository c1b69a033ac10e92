"""How self-attention knows of positions."""
