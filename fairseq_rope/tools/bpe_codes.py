"""A file of BPE codes, checked before subword-nmt reads it: its own errors name no file, or end the program."""

import re
from pathlib import Path

from fairseq_rope.tools._common import ToolError

_VERSION = re.compile(r"#version: *[0-9]+(\.[0-9]+)*\s*")


def check_codes(path: Path) -> None:
    """Pass a file that subword-nmt takes: lines of two symbols, perhaps a version before them.

    Raises:
        ToolError: it isn't UTF-8, a line has another form, or there are no codes; names file and line.
    """
    try:
        lines = path.read_text(encoding="utf-8").rstrip("\n").split("\n")
    except UnicodeDecodeError as error:
        number = error.object.count(b"\n", 0, error.start) + 1
        raise ToolError(f"{path}:{number}: not valid UTF-8: {error.reason}") from error
    codes = lines[1:] if lines[0].startswith("#version:") else lines
    if len(codes) < len(lines) and not _VERSION.fullmatch(lines[0]):
        raise ToolError(f"{path}:1: a version must be as in '#version: 0.2', but is {lines[0]!r}")
    if codes in ([], [""]):
        raise ToolError(f"{path} holds no BPE codes")
    for number, line in enumerate(codes, start=1 + len(lines) - len(codes)):
        if len(line.strip("\r\n ").split(" ")) != 2:
            raise ToolError(f"{path}:{number}: a line of BPE codes must be two symbols, but is {line!r}")
