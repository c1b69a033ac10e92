"""Which archives and compressed files are read: what members may be, and how much they may hold for their size.

The rules are those of the recipes, which print a member and write nothing to its name, and of fairseq's
`from_pretrained`, which unpacks all of them (fairseq_rope/compat/model_archives.py) and so allows no links.
"""

import bz2
import contextlib
import gzip
import lzma
import posixpath
import tarfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any, Protocol, cast

from fairseq_rope_data.errors import UserError
from fairseq_rope_data.files import open_text

# refused above both: text shrinks to a third, or to a tenth where it repeats itself, and weights hardly
ALWAYS_ALLOWED = 1 << 26
RATIO = 100
# form -> how it is opened, and how its files begin
_FORMS: dict[str, tuple[Callable[[Any], Any], bytes]] = {
    "gzip": (gzip.open, b"\x1f\x8b"),
    "bzip2": (bz2.open, b"BZh"),
    "xz": (lzma.open, b"\xfd7zXZ"),
    "tar": (contextlib.nullcontext, b""),
}


class Readable(Protocol):
    """What bytes are read from."""

    def read(self, size: int, /) -> bytes:
        """Read up to `size` bytes."""


class Unpacked:
    """The bytes that a compressed file holds, `file`, which end with an error where they are too many."""

    def __init__(self, path: Path, file: Readable):
        self.path, self.file = path, file
        self.limit = self.left = max(ALWAYS_ALLOWED, RATIO * path.stat().st_size)

    def read(self, size: int) -> bytes:
        """Read up to `size` bytes.

        Raises:
            UserError: they are more than the limit leaves.
        """
        data = self.file.read(min(size, self.left + 1))
        self.left -= len(data)
        if self.left < 0:
            raise UserError(f"{self.path} is not unpacked: it holds more than {RATIO} times its size")
        return data


@contextlib.contextmanager
def unpacked(path: Path, advice: str = "") -> Iterator[Unpacked]:
    """Open a gzip file.

    Raises:
        UserError: it cannot be opened, is not a whole gzip file, which `advice` follows, or holds more than text can.
    """
    try:
        with open_text(path) as packed, gzip.open(packed) as file:
            yield Unpacked(path, file)
    except (EOFError, zlib.error, gzip.BadGzipFile):
        raise UserError(f"{path} is not a whole gzip file: {description(path, 'gzip')}{advice}") from None


def members(path: Path, form: str, *, links: bool) -> Iterator[tuple[tarfile.TarInfo, tarfile.TarFile]]:
    """Yield the members of a tar archive with the archive, and read it to its end, where checksums are.

    Args:
        path: the file.
        form: gzip, bzip2, xz or, if it isn't compressed, tar.
        links: whether a link within the archive is allowed.

    Raises:
        UserError: it cannot be read, is truncated, corrupt or no archive; or a member must not be unpacked, which is
            named.
    """
    try:
        with open_text(path) as packed, _FORMS[form][0](packed) as file:
            stream = Unpacked(path, file)
            # "r|" reads blocks in their order, so that the limit ends the reading
            with tarfile.open(fileobj=cast("IO[bytes]", stream), mode="r|") as archive:
                for member in archive:
                    reason = problem(member, stream.limit, links=links)
                    if reason:
                        raise UserError(f"{path} is not unpacked: its member {member.name!r} {reason}")
                    yield member, archive
                while stream.read(1 << 20):
                    pass
    except tarfile.TarError as error:
        raise UserError(f"{path} is no tar archive, or a truncated one: {error}") from None
    except (EOFError, zlib.error, lzma.LZMAError, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:  # not the data's fault
            raise
        raise UserError(f"{path} is no whole archive: {description(path, form)}") from None


def problem(member: tarfile.TarInfo, limit: int, *, links: bool) -> str | None:
    """Return why a member must not be unpacked, if there is a reason."""
    if is_outside(member.name):
        return "is outside the archive's folder"
    target = posixpath.join(posixpath.dirname(member.name) if member.issym() else "", member.linkname)
    is_link = member.issym() or member.islnk()
    if is_link and is_outside(target):
        return f"is a link to {member.linkname}, outside the archive's folder"
    if is_link and not links:
        return f"is a link, to {member.linkname}"
    if not (is_link or member.isfile() or member.isdir()):
        return "is a device or a pipe"
    return f"has {member.size} bytes, more than {RATIO} times the archive's size" if member.size > limit else None


def is_outside(name: str) -> bool:
    """Return whether a name leads out of the folder that it is in."""
    return posixpath.isabs(name) or posixpath.normpath(name).split("/")[0] == ".."


def description(path: Path, form: str) -> str:
    """Return what a file is instead of a whole one of its form."""
    with path.open("rb") as file:
        head = file.read(500)
    if any(mark in head.lower() for mark in (b"<html", b"<!doctype")):
        kind = "an HTML page of"
    else:
        kind = "truncated or corrupt," if head.startswith(_FORMS[form][1]) else f"not {form},"
    return f"{kind} {path.stat().st_size} bytes"
