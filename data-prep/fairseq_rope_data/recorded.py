"""Files that a recipe prepared are what they were then: WORK/manifest.json has the checksum of each.

A dictionary or a file of BPE codes has no checksum of its own. With two of its lines swapped or a letter changed it is
still one, of another model, and translations are wrong without a word.
"""

import hashlib
import json
import os
from pathlib import Path

from fairseq_rope_data.errors import UserError

MANIFEST = "manifest.json"


def check_recorded(path: Path) -> None:
    """Compare a file WORK/FOLDER/NAME with WORK/manifest.json, if that is there and has the file.

    Raises:
        UserError: the file is not the one that was recorded, or the record is damaged.
    """
    path = Path(os.path.abspath(path))  # not resolved: a folder of WORK may be a link to a larger disk
    manifest = path.parent.parent / MANIFEST
    if not manifest.is_file():
        return
    try:
        entry = json.loads(manifest.read_bytes())["files"].get(f"{path.parent.name}/{path.name}")
        recorded = None if entry is None else entry["sha256"]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise UserError(f"{manifest} is damaged ({error}); without it nothing tells if {path} is whole") from error
    if recorded not in (None, hashlib.sha256(path.read_bytes()).hexdigest()):
        raise UserError(f"{path} is not the file that was prepared: its SHA-256 is another than in {manifest}")
