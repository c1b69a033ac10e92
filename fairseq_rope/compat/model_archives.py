"""`from_pretrained` of a tar archive: its members are checked before fairseq unpacks them.

Symptom: fairseq's `load_archive_file` calls `extractall`, which Python < 3.14 lets write outside the folder, follow
links and make devices, and which has no limit. It then moves what all names begin with, be it `..`, the folder above.
fairseq 0.12.2 and main; can go when Python 3.14 is the oldest supported, but for the limit and the move.
"""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fairseq import file_utils

from fairseq_rope.compat.wrapping import wrap
from fairseq_rope_data.archives import is_outside, members
from fairseq_rope_data.errors import UserError

_FORMS = {".gz": "gzip", ".bz2": "bzip2", ".xz": "xz"}


def check_archives() -> None:
    """Let `file_utils.load_archive_file` look at the members of an archive first."""
    wrap(file_utils, "load_archive_file", _load_checked)


def _load_checked(load: Callable[[str], Any], archive_file: str) -> Any:
    try:
        path = file_utils.cached_path(archive_file)
    except OSError:
        return load(archive_file)  # which says that there is no such file
    if not os.path.isdir(path):
        # read from its start without unpacking it, as far as its members are allowed
        form = _FORMS.get(os.path.splitext(archive_file)[1], "tar")
        names = [member.name for member, _ in members(Path(path), form, links=False)]
        start = os.path.commonprefix(names)  # noqa: RUF071  by letters, as fairseq, which moves what is there
        if is_outside(start):
            raise UserError(f"{path} is not unpacked: all its names begin with {start!r}")
    return load(archive_file)
