"""Look through a compressed tar archive, or print one of its members; nothing is ever written to a member's name.

python -m fairseq_rope_data.tar_archive FILE                  print what is wrong with FILE, or nothing
python -m fairseq_rope_data.tar_archive FILE MEMBER [MEMBER]  print the first of these members that FILE holds

FILE is refused, with the member's name, for names outside its folder, links that lead there, devices, and for what
unpacks to far more than text can; it is read to there only.
"""

import gzip
import posixpath
import shutil
import sys
import tarfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, cast

from fairseq_rope_data import cli
from fairseq_rope_data.errors import UserError, run
from fairseq_rope_data.files import open_text
from fairseq_rope_data.gunzip import RATIO, Unpacked, description


@contextmanager
def opened(path: Path) -> Iterator[tuple[tarfile.TarFile, Unpacked]]:
    """Open an archive for reading from its start; give also its unpacked bytes.

    Raises:
        UserError: it cannot be read, is truncated, corrupt or no archive.
    """
    try:
        with open_text(path) as packed, gzip.open(packed) as file:
            stream = Unpacked(path, file)
            # "r|" reads blocks in their order, so that the limit ends the reading
            with tarfile.open(fileobj=cast("IO[bytes]", stream), mode="r|") as archive:
                yield archive, stream
    except (EOFError, zlib.error, gzip.BadGzipFile):
        raise UserError(f"{path} is no whole archive: {description(path)}") from None
    except tarfile.TarError:
        raise UserError(f"{path} is no tar archive") from None


def problem(member: tarfile.TarInfo, limit: int) -> str | None:
    """Say why a member must not be unpacked."""
    if is_outside(member.name):
        return "is outside the archive's folder"
    target = posixpath.join(posixpath.dirname(member.name) if member.issym() else "", member.linkname)
    if (member.issym() or member.islnk()) and is_outside(target):
        return f"is a link to {member.linkname}, outside the archive's folder"
    if member.ischr() or member.isblk() or member.isfifo():
        return "is a device or a pipe"
    return f"has {member.size} bytes, more than {RATIO} times the archive's size" if member.size > limit else None


def is_outside(name: str) -> bool:
    """Tell whether a name leads out of the folder that it is in."""
    return posixpath.isabs(name) or posixpath.normpath(name).split("/")[0] == ".."


def files(path: Path) -> dict[str, bool]:
    """Read the whole archive: its names, and whether each is one file and nothing else.

    Raises:
        UserError: see `opened`; or a member must not be unpacked, which is named.
    """
    found: dict[str, bool] = {}
    with opened(path) as (archive, stream):
        for member in archive:
            reason = problem(member, stream.limit)
            if reason:
                raise UserError(f"{path} is not unpacked: its member {member.name!r} {reason}")
            found[member.name] = member.isfile() and member.name not in found
        while stream.read(1 << 20):  # to the end, where gzip's checksum is
            pass
    return found


def print_first(path: Path, names: list[str]) -> None:
    """Print the first of the members that is there.

    Raises:
        UserError: see `files`; or none is there, or it isn't one file.
    """
    found = files(path)
    name = next((name for name in names if name in found), None)
    if name is None:
        raise UserError(f"{path} does not hold {names[0]}: it is another archive under this name")
    if not found[name]:
        raise UserError(f"{path} is not unpacked: its member {name!r} is a link or a folder, or is there twice")
    with opened(path) as (archive, _):
        content = next(archive.extractfile(member) for member in archive if member.name == name)
        shutil.copyfileobj(cast("IO[bytes]", content), sys.stdout.buffer)


def main() -> None:
    """Read the options, then the archive."""
    parser = cli.parser(__doc__, "tar_archive")
    parser.add_argument("file", type=Path, metavar="FILE")
    parser.add_argument("members", nargs="*", metavar="MEMBER")
    options = parser.parse_args()
    if options.members:
        print_first(options.file, options.members)
        return
    try:
        files(options.file)
    except UserError as error:
        print(str(error).removeprefix(f"{options.file} "))


if __name__ == "__main__":
    run("tar_archive", main)
