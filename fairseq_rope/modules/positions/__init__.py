"""Position methods: what self-attention asks about positions, a file for each method."""
