"""Command lines, all set up alike."""

import argparse


def parser(doc: str | None, name: str, *, allow_abbrev: bool = True) -> argparse.ArgumentParser:
    """Return a parser whose --help is a program's docstring as it is written, and whose errors begin with its name."""
    form = argparse.RawDescriptionHelpFormatter
    return argparse.ArgumentParser(name, description=doc, formatter_class=form, allow_abbrev=allow_abbrev)
