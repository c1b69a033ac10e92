"""Files that a recipe prepared are what they were then: WORK/manifest.json has size and SHA-256 of each.

A dictionary or a file of BPE codes has no checksum of its own. With two of its lines swapped or a letter changed it is
still one, of another model, and translations are wrong without a word.
"""

import json
import os
from pathlib import Path

from fairseq_rope_data.errors import UserError
from fairseq_rope_data.manifest import FOLDERS, MANIFEST, Facts, facts


def recorded_files(manifest: Path) -> dict[str, Facts]:
    """Return what a manifest says of each file, by its path in WORK.

    Raises:
        UserError: it can't be read, or isn't what `manifest` wrote.
    """
    try:
        files: dict[str, Facts] = json.loads(manifest.read_bytes())["files"]
        is_whole = all(
            entry.keys() >= {"bytes", "sha256"}
            and all(isinstance(entry.get(name, 0), int) for name in ("bytes", "lines"))
            for entry in files.values()
        )
    except OSError as error:
        raise UserError(f"cannot read {manifest}: {error.strerror}") from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise UserError(f"{manifest} is damaged: {error!r}; without it nothing tells if files are whole") from None
    if not is_whole:
        raise UserError(f"{manifest} is damaged: a file has no size, or one that is no number, or no SHA-256")
    return files


def check_file(path: Path, entry: Facts, manifest: Path) -> None:
    """Compare a file with its entry in a manifest.

    Raises:
        UserError: it is missing, or not the one that was recorded.
    """
    if not path.is_file():
        raise UserError(f"{path} is missing, though {manifest} has it")
    found = facts(path)
    for what, name in (("bytes", "size"), ("sha256", "SHA-256")):
        if found[what] != entry[what]:
            raise UserError(
                f"{path} is not the file that was prepared: its {name} is {found[what]}, "
                f"but {entry[what]} in {manifest}; make it again"
            )


def check_recorded(path: Path) -> None:
    """Compare a file WORK/FOLDER/NAME or WORK/FOLDER/COLUMN/NAME with WORK/manifest.json.

    Nothing is compared where there is no manifest, or it has not the file.

    Raises:
        UserError: the file is not the one that was recorded, or the record is damaged.
    """
    path = Path(os.path.abspath(path))  # not resolved: a folder of WORK may be a link to a larger disk
    for folder in path.parents[:2]:
        manifest = folder.parent / MANIFEST
        # a manifest.json above another folder may be of anything
        if folder.name in FOLDERS and manifest.is_file():
            entry = recorded_files(manifest).get(path.relative_to(folder.parent).as_posix())
            if entry is not None:
                check_file(path, entry, manifest)
            return
