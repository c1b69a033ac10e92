"""Compare a prepared corpus with its manifest.json: every file that is recorded has its size and SHA-256 still.

Binarized data has no checksum of its own: with a bit changed it is another text, and nobody sees it.

    python -m fairseq_rope_data.check_manifest runs/wmt14 data-bin
"""

import json
from pathlib import Path

from fairseq_rope_data import cli
from fairseq_rope_data.errors import UserError, run
from fairseq_rope_data.manifest import FOLDERS, facts


def recorded(work: Path) -> dict[str, dict[str, int | str]]:
    """Read what manifest.json says of each file.

    Raises:
        UserError: it can't be read, or isn't what manifest wrote.
    """
    path = work / "manifest.json"
    try:
        files: dict[str, dict[str, int | str]] = json.loads(path.read_bytes())["files"]
        if not all(entry.keys() >= {"bytes", "sha256"} for entry in files.values()):
            raise UserError(f"{path} is damaged: a file has no size or no SHA-256")
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}") from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise UserError(f"{path} is damaged: {error!r}") from None
    return files


def check(work: Path, name: str, entry: dict[str, int | str]) -> None:
    """Compare one file.

    Raises:
        UserError: it is missing, or not the one that was recorded.
    """
    path = work / name
    if not path.is_file():
        raise UserError(f"{path} is missing, though {work / 'manifest.json'} has it")
    found = facts(path)
    for what in ("bytes", "sha256"):
        if found[what] != entry[what]:
            raise UserError(
                f"{path} is not the file that was prepared: its {what} is {found[what]}, "
                f"but {entry[what]} in {work / 'manifest.json'}; make it again"
            )


def main() -> None:
    """Read the options, then the files."""
    parser = cli.parser(__doc__, "check_manifest")
    parser.add_argument("work", type=Path, metavar="WORK", help="folder of the corpus")
    parser.add_argument("folders", nargs="*", default=FOLDERS, metavar="FOLDER", help="of WORK (default: all)")
    options = parser.parse_args()
    for name, entry in recorded(options.work).items():
        if name.partition("/")[0] in options.folders:
            check(options.work, name, entry)


if __name__ == "__main__":
    run("check_manifest", main)
