"""`from_pretrained` of a tar archive: its members are checked before fairseq unpacks them.

Symptom: fairseq's `load_archive_file` calls `extractall`, which Python < 3.14 lets write outside the folder, follow
links and make devices, and which has no limit.
fairseq 0.12.2 and main; can go when Python 3.14 is the oldest supported, but for the limit.
"""

import bz2
import gzip
import lzma
import os
import tarfile
import zlib
from collections.abc import Callable
from pathlib import PurePosixPath
from typing import IO, Any, cast

from fairseq import file_utils

from fairseq_rope.compat.wrapping import wrap

# an archive is refused that unpacks to more than both; weights hardly shrink, and text not to a hundredth
_ALWAYS_ALLOWED = 1 << 26
_RATIO = 100
_OPEN: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open, ".tar": open}


class UnsafeArchive(ValueError):
    """An archive with a member that must not be unpacked."""


def check_archives() -> None:
    """Let `file_utils.load_archive_file` look at the members of an archive first."""
    wrap(file_utils, "load_archive_file", _load_checked)


def _load_checked(load: Callable[[str], Any], archive_file: str) -> Any:
    try:
        path = file_utils.cached_path(archive_file)
    except OSError:
        return load(archive_file)  # which says that there is no such file
    if not os.path.isdir(path):
        check_archive(path, suffix=os.path.splitext(archive_file)[1])
    return load(archive_file)


def check_archive(path: str, *, suffix: str) -> None:
    """Read an archive from its start, without unpacking it, as far as its members are allowed.

    Args:
        path: the file.
        suffix: which tells its compression.

    Raises:
        UnsafeArchive: a member is a link or a device, is outside the folder or too large; or it is no archive.
    """
    limit = max(_ALWAYS_ALLOWED, _RATIO * os.path.getsize(path))
    try:
        with _OPEN.get(suffix, open)(path, "rb") as file:
            stream = _Limited(path, file, limit)
            # "r|" reads blocks in their order, so that the limit ends the reading
            with tarfile.open(fileobj=cast("IO[bytes]", stream), mode="r|") as archive:
                for member in archive:
                    problem = _problem(member) or (
                        f"holds more than {_RATIO} times its size" if member.size > limit else None
                    )
                    if problem:
                        raise UnsafeArchive(f"{path} is not unpacked: its member {member.name!r} {problem}")
    except (tarfile.TarError, EOFError, zlib.error, lzma.LZMAError, OSError) as error:
        raise UnsafeArchive(f"{path} is not unpacked: it is truncated, corrupt or no archive ({error})") from error


class _Limited:
    """A file that ends with an error where more than `limit` bytes are read from it."""

    def __init__(self, path: str, file: Any, limit: int):
        self.path, self.file, self.left = path, file, limit

    def read(self, size: int) -> bytes:
        data = cast("bytes", self.file.read(min(size, self.left + 1)))
        self.left -= len(data)
        if self.left < 0:
            raise UnsafeArchive(f"{self.path} is not unpacked: it holds more than {_RATIO} times its size")
        return data


def _problem(member: tarfile.TarInfo) -> str | None:
    if member.name.startswith("/"):
        return "has an absolute name"
    if ".." in PurePosixPath(member.name).parts:
        return "would be outside the folder"
    if member.issym() or member.islnk():
        return f"is a link to {member.linkname!r}"
    return None if member.isfile() or member.isdir() else "is a device or a pipe"
