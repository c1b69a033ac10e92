"""Make a --save-dir fit to resume from after a training was killed while it wrote.

    python -m fairseq_rope.tools.repair checkpoints

fairseq writes a checkpoint under another name and renames it, then copies it over checkpoint_best.pt and
checkpoint_last.pt in place. A kill leaves a broken copy, or a checkpoint_last.pt that is older than the newest. The
newest is the one with the most updates among fairseq's own names that has its optimizer's state; it becomes
checkpoint_last.pt. Nothing is deleted: what was there is renamed to NAME.broken or NAME.older. Names with a
--checkpoint-suffix are left alone, because the shards of a model belong together.
"""

import argparse
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from fairseq_rope.checkpoints.health import Health, examine
from fairseq_rope.compat.checkpoint_names import LAST, aside_name, checkpoints_in, is_set_aside
from fairseq_rope_data.errors import UserError, run
from fairseq_rope_data.files import named_when_full


def repair(folder: Path) -> Iterator[str]:
    """Set broken checkpoints aside and make the newest one `checkpoint_last.pt`.

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
    for part in folder.glob(f"{LAST}.part-*"):
        part.unlink()  # a copy of a killed repair
    found = [examine(path) for path in checkpoints_in(folder)]
    # of equally new ones checkpoint_last.pt itself
    resumable = [one for one in found if one.updates is not None]
    newest = max(resumable, key=lambda one: (one.updates, one.path.name == LAST), default=None)
    if newest and newest.path.name != LAST:
        last = next((one for one in found if one.path.name == LAST), None)
        yield from _make_last(newest, last, folder / LAST)
    for one in found:
        if one.damage and (one.path.name != LAST or not newest):
            yield _set_aside(one.path, "broken") + f": {one.damage}"
    for path in sorted(folder.glob("checkpoint*.pt.tmp")):
        yield f"left {path}, which a training was writing when it ended; fairseq never reads it"
    if not newest:
        _check_untrained(folder)


def _make_last(newest: Health, last: Health | None, path: Path) -> Iterator[str]:
    """Copy `newest` to `path`, checkpoint_last.pt; what is there as `last` is set aside."""
    if last and not last.damage and last.updates is None:
        raise UserError(
            f"{path} has no optimizer state, as an average has none, so that a training would begin at 0 updates: "
            f"move it elsewhere to go on from {newest.path.name} at {newest.updates} updates"
        )
    # fairseq writes it last: a later change is a person's choice to go back
    if last and last.updates is not None and path.lstat().st_ctime_ns >= newest.path.lstat().st_ctime_ns:
        yield (
            f"left {path} at {last.updates} updates, which is of a later date than {newest.path.name} "
            f"at {newest.updates} updates"
        )
        return
    done = f"made {path} from {newest.path.name} at {newest.updates} updates"
    part = path.with_name(f"{LAST}.part-{os.getpid()}")
    try:
        with named_when_full(str(path)), newest.path.open("rb") as source, part.open("xb") as copy:
            shutil.copyfileobj(source, copy)
            copy.flush()
            os.fsync(copy.fileno())  # or a power cut could leave the name without the bytes
        if last:
            why = f": {last.damage}" if last.damage else f", which was at {last.updates} updates"
            done = _set_aside(path, "broken" if last.damage else "older") + f"{why}\n{done}"
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
    yield from done.splitlines()


def _set_aside(path: Path, why: str) -> str:
    aside = aside_name(path, why)
    path.rename(aside)
    return f"renamed {path} to {aside.name}"


def _check_untrained(folder: Path) -> None:
    """Raise where a training was, now that none of its checkpoints can be resumed from."""
    names = [path.name for path in checkpoints_in(folder)]
    names += sorted(path.name for path in folder.iterdir() if is_set_aside(path.name))
    if names:
        raise UserError(
            f"{folder} holds no checkpoint that a training can go on from, whole and with its optimizer's state: "
            f"move {', '.join(names)} elsewhere to start anew"
        )


def main() -> None:
    """Read the options and repair."""
    parser = argparse.ArgumentParser(
        prog="repair", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, metavar="DIR", help="the --save-dir of fairseq-train")
    for sentence in repair(parser.parse_args().folder):
        print(sentence, flush=True)


if __name__ == "__main__":
    run("repair", main)
