"""A checkpoint with a damaged weight is refused by fairseq's own commands, too.

Symptom: with a bit changed on a disk or on the way, fairseq-train resumes and fairseq-generate translates with another
weight, without a word. A zip file holds the CRC-32 of each tensor, but torch doesn't compare them.
fairseq 0.12.2 and main; can go when `torch.load` compares them. Reading the file once more takes about a second a GB.
"""

import errno
import zipfile
from collections.abc import Callable
from typing import Any

from fairseq import checkpoint_utils
from fairseq.file_io import PathManager

from fairseq_rope.compat.wrapping import wrap
from fairseq_rope_data.errors import UserError

_ZIP = b"PK\x03\x04"  # how torch tells it


class DamagedCheckpoint(UserError):
    """A checkpoint whose content is not what was written: truncated, or changed in its middle."""


def verify_checkpoints() -> None:
    """Compare the checksums of what `checkpoint_utils.load_checkpoint_to_cpu` reads, by which all of fairseq loads."""
    wrap(checkpoint_utils, "load_checkpoint_to_cpu", _load_verified)


def _load_verified(load: Callable[..., dict[str, Any]], path: str, *args: Any, **kwargs: Any) -> dict[str, Any]:
    verify(PathManager.get_local_path(path))
    return load(path, *args, **kwargs)


def verify(path: str) -> bool:
    """Compare all checksums of a zip file; return false for torch's older form, which has none.

    Raises:
        DamagedCheckpoint: one differs, or the file's directory is damaged.
        OSError: the file can't be read.
    """
    with open(path, "rb") as file:
        if file.read(len(_ZIP)) != _ZIP:
            return False
        try:
            with zipfile.ZipFile(file) as archive:
                damaged = archive.testzip()
        except Exception as error:  # a damaged directory can raise anything
            if is_unreadable(error):
                raise
            raise DamagedCheckpoint(f"cannot load {path}: it is truncated or corrupt ({error})") from error
    if damaged is not None:
        raise DamagedCheckpoint(f"cannot load {path}: it is corrupt, the checksum of {damaged} is wrong")
    return True


def is_unreadable(error: Exception) -> bool:
    """Return whether reading failed, whatever the bytes are; a damaged zip sends its reader before the file's start."""
    return isinstance(error, OSError) and error.errno not in (None, errno.EINVAL)
