"""Files of BPE codes: checked here, for subword_nmt ends the program over a bad line, and takes others in silence."""

from pathlib import Path

from fairseq_rope_data.errors import UserError
from fairseq_rope_data.files import BOM, read_lines

_VERSIONS = ("#version: 0.1", "#version: 0.2")


def check_codes(path: Path) -> None:
    """Pass a file as `subword-nmt learn-bpe` writes it: perhaps its version, then two pieces a line.

    Raises:
        UserError: it is another file, or damaged.
    """
    if path.read_bytes().startswith(BOM):
        raise UserError(f"--bpe-codes {path}: it must begin with its first line, but has a byte order mark before it")
    for number, line in enumerate(read_lines(path), start=1):
        if number == 1 and line.startswith("#version:"):
            if line.strip() not in _VERSIONS:
                raise UserError(f"--bpe-codes {path}:1: must be one of {', '.join(_VERSIONS)}, but is {line[:40]!r}")
        # a lone \r ends a line for subword_nmt
        elif len(line.strip("\r\n ").split(" ")) != 2 or "\r" in line.rstrip("\r\n "):
            raise UserError(f"--bpe-codes {path}:{number}: must be two pieces of a word, but is {line[:40]!r}")
