"""Make a --save-dir fit to resume from after a training was killed while it wrote.

    python -m fairseq_rope.tools.repair checkpoints

fairseq copies each new checkpoint over checkpoint_last.pt in place, so a kill in that moment leaves a broken file, from
which fairseq-train cannot go on. The newest whole checkpoint then takes its place; half-written files are removed.
"""

import argparse
import os
import shutil
import zipfile
from pathlib import Path

from fairseq_rope.tools._common import complete_file, run

LAST = "checkpoint_last.pt"


def is_whole(path: Path) -> bool:
    """Tell whether a checkpoint was written to its end: the directory of a zip file stands there."""
    return zipfile.is_zipfile(path)


def repair(folder: Path) -> list[str]:
    """Remove broken checkpoints and give `checkpoint_last.pt` back.

    Returns: what was done, a sentence each; nothing for a folder that is whole or not there.
    """
    done = []
    for path in sorted([*folder.glob("checkpoint*.pt"), *folder.glob("checkpoint*.pt.tmp")]):
        if path.suffix == ".tmp" or not is_whole(path):
            path.unlink()
            done.append(f"removed {path}, which is not whole")
    last = folder / LAST
    others = sorted(set(folder.glob("checkpoint*.pt")) - {last}, key=os.path.getmtime)
    if done and others and not last.exists():
        with complete_file(last) as part:
            shutil.copyfile(others[-1], part)
        done.append(f"made {last} from {others[-1].name}")
    return done


def main() -> None:
    """Read the options and repair."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, metavar="DIR", help="the --save-dir of fairseq-train")
    for sentence in repair(parser.parse_args().folder):
        print(sentence)


if __name__ == "__main__":
    run("repair", main)
