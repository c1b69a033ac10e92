"""What is in a work folder of a recipe, and what a run says of it."""

import shlex
from pathlib import Path


def state(work: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(work)): path.read_bytes()
        for path in work.rglob("*")
        if path.is_file() and path.suffix != ".lock"
    }


def named(stderr: str) -> set[str]:
    """What the error says is to be removed."""
    error = next(line for line in stderr.splitlines() if "error: made from other" in line)
    words = shlex.split(error.split(", + now): ")[1].split("; remove")[0])
    return {word.rpartition("/moved/")[2] for word in words}
