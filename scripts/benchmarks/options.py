"""What the command lines of all benchmarks share."""

import argparse


def count(text: str) -> int:
    """Return a whole number above 0, for argparse."""
    if not (text.isdecimal() and int(text)):
        raise argparse.ArgumentTypeError(f"must be a whole number above 0, but is {text}")
    return int(text)
