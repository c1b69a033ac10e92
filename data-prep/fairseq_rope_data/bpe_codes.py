"""Files of BPE codes: checked here, for subword_nmt ends the program over a bad line, and takes others in silence."""

from pathlib import Path

from fairseq_rope_data.errors import UserError
from fairseq_rope_data.files import BOM, decoded, open_text

_VERSIONS = ("#version: 0.1", "#version: 0.2")


def read_codes(path: Path, option: str) -> list[str]:
    """Return the lines of a file as `subword-nmt learn-bpe` writes it: perhaps its version, then two symbols a line.

    Raises:
        UserError: it is another file, or damaged; the text names `option`, file and line.
    """
    with open_text(path) as file:
        if file.peek(len(BOM)).startswith(BOM):
            raise UserError(f"{option} {path}: it must begin with its first line, but has a byte order mark before it")
        codes = list(decoded(file, str(path)))
    has_version = bool(codes) and codes[0].startswith("#version:")
    if has_version and codes[0].strip() not in _VERSIONS:
        raise UserError(f"{option} {path}:1: must be one of {', '.join(_VERSIONS)}, but is {codes[0][:40]!r}")
    if len(codes) == has_version:
        raise UserError(f"{option} {path} holds no BPE codes")
    for number, line in enumerate(codes[has_version:], start=1 + has_version):
        # a lone \r ends a line for subword_nmt
        if len(line.strip("\r\n ").split(" ")) != 2 or "\r" in line.rstrip("\r\n "):
            raise UserError(f"{option} {path}:{number}: a line of BPE codes must be two symbols, but is {line[:40]!r}")
    return codes
