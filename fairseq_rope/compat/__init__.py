"""What fairseq, torch and their libraries do and users should not meet: a file each, with when it can go."""
