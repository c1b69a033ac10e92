"""Every Python of a watched run imports this at its start: each change of a file in WORK is recorded, and one may kill.

The changes of all processes are counted in one log. Before change FAULTS_AT, or FAULTS_DELAY seconds after it was
allowed, FAULTS_SIGNAL goes to the process group, as a terminal sends it: with no delay a kill between two system calls,
with a short one often in the midst of a write.
"""

import os
import sys
import threading
import time

CHANGES = ("open", "os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.link", "os.symlink", "os.truncate")
LOG, FOLDER = os.environ.get("FAULTS_CHANGES", ""), os.environ.get("WORK", "")
AT = int(os.environ.get("FAULTS_AT", "0")) if os.environ.get("FAULTS_KIND") == "change" else 0


def watch(event: str, args: tuple) -> None:
    """Record a change of a file, and kill where it is the one."""
    if event not in CHANGES or (event == "open" and not args[2] & (os.O_WRONLY | os.O_RDWR)):
        return
    if not isinstance(args[0], str | bytes | os.PathLike):
        return
    path = os.fsdecode(args[0])
    if not path.startswith(FOLDER):
        return
    with open(LOG, "a+") as log:
        log.write(f"{event} {path.removeprefix(FOLDER)}\n")
        log.seek(0)
        count = len(log.readlines())
    if count == AT:
        delay = float(os.environ["FAULTS_DELAY"])
        if delay:
            threading.Thread(target=kill, args=(delay,), daemon=True).start()
        else:
            kill(0)


def kill(delay: float) -> None:
    """Send the signal to all processes of this run."""
    time.sleep(delay)
    os.killpg(0, int(os.environ["FAULTS_SIGNAL"]))


if LOG and FOLDER:
    sys.addaudithook(watch)
