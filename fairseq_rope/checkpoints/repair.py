"""Make a --save-dir fit to resume from: see `fairseq_rope.tools.repair`."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from fairseq_rope.checkpoints.health import Health, examine
from fairseq_rope.compat.checkpoint_names import BEST, LAST, aside_name, checkpoints_in, is_set_aside
from fairseq_rope_data.errors import UserError
from fairseq_rope_data.files import named_when_full


def repair(folder: Path) -> Iterator[str]:
    """Set broken checkpoints aside and make the newest one `checkpoint_last.pt`, and `checkpoint_best.pt` where it is.

    A kill at any moment leaves all that was there, and a folder that the next call makes fit.

    Yields: what was done, a sentence each; nothing for a folder that is fit, or holds no training.

    Raises:
        UserError: `folder` isn't one; nothing in it can be resumed from; checkpoint_last.pt has no optimizer state;
            what `examine` refuses.
        OSError: a checkpoint cannot be read or written; nothing has changed then.
    """
    if not folder.is_dir():
        what = "is a file" if folder.exists() else "does not exist"
        raise UserError(f"DIR must be a folder, the --save-dir of fairseq-train, but {folder} {what}")
    for part in (*folder.glob(f"{LAST}.part-*"), *folder.glob(f"{BEST}.part-*")):
        part.unlink()  # a copy of a killed repair
    checkpoints = [examine(path) for path in checkpoints_in(folder)]
    # of equally new ones checkpoint_last.pt itself
    resumable = [one for one in checkpoints if one.updates is not None]
    newest = max(resumable, key=lambda one: (one.updates, one.path.name == LAST), default=None)
    there = {one.path.name: one for one in checkpoints}
    copied: list[str] = []
    if newest and newest.path.name != LAST:
        if _is_choice(newest, there.get(LAST)):
            last = there[LAST]
            yield (
                f"left {last.path} at {last.updates} updates, which is of a later date than {newest.path.name} "
                f"at {newest.updates} updates"
            )
        else:
            # in fairseq's order: a repair that is killed between the two is done again
            copied = [BEST, LAST] if newest.is_best and newest.path.name != BEST else [LAST]
            for name in copied:
                yield from _copy_over(newest, there.get(name), folder / name)
    for one in checkpoints:
        if one.damage and one.path.name not in copied and (one.path.name != LAST or not newest):
            yield _set_aside(one.path, "broken") + f": {one.damage}"
    for path in sorted(folder.glob("checkpoint*.pt.tmp")):
        yield f"left {path}, which a training was writing when it ended; fairseq never reads it"
    if not newest:
        _check_untrained(folder)


def _is_choice(newest: Health, last: Health | None) -> bool:
    """Return whether `last`, checkpoint_last.pt with fewer updates, is a person's choice to go back.

    Raises:
        UserError: it has no optimizer state.
    """
    if not last or last.damage:
        return False
    if last.updates is None:
        raise UserError(
            f"{last.path} has no optimizer state, as an average has none, so that a training would begin at 0 updates: "
            f"move it elsewhere to go on from {newest.path.name} at {newest.updates} updates"
        )
    # fairseq writes it last: a later change is a person's
    return last.path.lstat().st_ctime_ns >= newest.path.lstat().st_ctime_ns


def _copy_over(newest: Health, old: Health | None, path: Path) -> Iterator[str]:
    """Copy `newest` to `path`, as fairseq did not come to; what is there as `old` is set aside."""
    if old and not old.damage and old.updates in (newest.updates, None):
        return  # copied already, or a person's: fairseq saves an optimizer's state in all or none
    sentences = [f"made {path} from {newest.path.name} at {newest.updates} updates"]
    part = path.with_name(f"{path.name}.part-{os.getpid()}")
    try:
        with named_when_full(str(path)), newest.path.open("rb") as source, part.open("xb") as copy:
            shutil.copyfileobj(source, copy)
            copy.flush()
            os.fsync(copy.fileno())  # or a power cut could leave the name without the bytes
        if old:
            why = f": {old.damage}" if old.damage else f", which was at {old.updates} updates"
            sentences.insert(0, _set_aside(path, "broken" if old.damage else "older") + why)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
    yield from sentences


def _set_aside(path: Path, why: str) -> str:
    """Rename a checkpoint to PATH.why; return the sentence that says so."""
    aside = aside_name(path, why)
    path.rename(aside)
    return f"renamed {path} to {aside.name}"


def _check_untrained(folder: Path) -> None:
    """Check that no training was in a folder that has no checkpoint to resume from."""
    names = [path.name for path in checkpoints_in(folder)]
    names += sorted(path.name for path in folder.iterdir() if is_set_aside(path.name))
    if names:
        raise UserError(
            f"{folder} holds no checkpoint that a training can go on from, whole and with its optimizer's state: "
            f"move {', '.join(names)} elsewhere to start anew"
        )
