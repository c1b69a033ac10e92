"""What the command lines of all benchmarks share."""

import argparse


def parser(description: str | None, *, allow_abbrev: bool = True) -> argparse.ArgumentParser:
    """Return a parser whose --help begins with `description` as it is written."""
    form = argparse.RawDescriptionHelpFormatter
    return argparse.ArgumentParser(description=description, formatter_class=form, allow_abbrev=allow_abbrev)


def count(text: str) -> int:
    """Return a whole number above 0, for argparse."""
    if not (text.isdecimal() and int(text)):
        raise argparse.ArgumentTypeError(f"must be a whole number above 0, but is {text}")
    return int(text)
