"""Write the page again whenever a training has validated, as long as a recipe is at work."""

import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from fairseq_rope_data.errors import UserError
from fairseq_rope_data.streams import tell

SECONDS = 5.0  # between two looks at the logs


def follow(works: Sequence[Path], process: int, write: Callable[[], None]) -> None:
    """Call `write` after each validation and each score in the work folders until the process `process` has ended.

    What is not there yet, such as a first validation, is no error: the reason is told once.
    """
    seen: dict[Path, int] = {}
    told = ""
    while True:
        alive = _lives(process)  # before the look, or what comes between the two would be missed
        if (now := _progress(works)) != seen:
            seen = now
            try:
                write()
                told = ""
            except (UserError, OSError) as error:
                if told != (told := str(error)):
                    tell(f"report: note: no page yet: {error}")
        if not alive:
            return
        time.sleep(SECONDS)


def _progress(works: Sequence[Path]) -> dict[Path, int]:
    """Return how many validations each log has, and the size of each report of scores."""
    found = {}
    for work in works:
        for log in sorted(work.glob("*/train.log")):
            found[log] = log.read_bytes().count(b" | valid on ")
        found |= {path: path.stat().st_size for path in sorted(work.glob("*/score-*.json"))}
    return found


def _lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass  # another user's
    return True
