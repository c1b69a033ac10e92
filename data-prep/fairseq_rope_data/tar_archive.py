"""Look through a compressed tar archive, or print one of its members; nothing is ever written to a member's name.

python -m fairseq_rope_data.tar_archive FILE                  print what is wrong with FILE, or nothing
python -m fairseq_rope_data.tar_archive FILE MEMBER [MEMBER]  print the first of these members that FILE holds

FILE is refused, with the member's name, for names outside its folder, links that lead there, devices, and for what
unpacks to far more than text can; it is read to there only.
"""

import shutil
import sys
from pathlib import Path
from typing import IO, cast

from fairseq_rope_data import cli
from fairseq_rope_data.archives import members
from fairseq_rope_data.errors import UserError, run


def files(path: Path) -> dict[str, bool]:
    """Return the names in an archive, and whether each is one file and nothing else; for errors see `members`."""
    found: dict[str, bool] = {}
    for member, _ in members(path, "gzip", links=True):
        found[member.name] = member.isfile() and member.name not in found
    return found


def print_first(path: Path, names: list[str]) -> None:
    """Print the first of the members that is there.

    Raises:
        UserError: see `members`; or none is there, or it isn't one file.
    """
    found = files(path)
    name = next((name for name in names if name in found), None)
    if name is None:
        raise UserError(f"{path} does not hold {names[0]}: it is another archive under this name")
    if not found[name]:
        raise UserError(f"{path} is not unpacked: its member {name!r} is a link or a folder, or is there twice")
    for member, archive in members(path, "gzip", links=True):
        if member.name == name:
            shutil.copyfileobj(cast("IO[bytes]", archive.extractfile(member)), sys.stdout.buffer)
            break


def main() -> None:
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
