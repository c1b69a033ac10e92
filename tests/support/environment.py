"""The environment that recipes are tested in, and the real corpora beside it."""

import os
import sys
from pathlib import Path

from tests.support import ROOT
from tests.support.forked import shared_server


def environment(work: Path, **settings: str) -> dict[str, str]:
    """This interpreter's environment for a recipe that works in `work`."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith(("MULTI30K", "PREPARED", "BASELINE"))
    }
    threads = {"OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
    return {**kept, **threads, "PATH": path, "FAIRSEQ_ROPE_ENV": "none", "WORK": str(work), **settings}


def forking_environment(work: Path, **settings: str) -> dict[str, str]:
    """The same, in which programs that need torch start at once: as forks of a process that has imported it."""
    settings["PATH"] = f"{shared_server().programs()}{os.pathsep}{environment(work)['PATH']}"
    return environment(work, **settings)


def real_corpora() -> Path:
    """The folder of real corpora that FAIRSEQ_ROPE_DATA names, or shared/data beside the clone, whether it is there."""
    return Path(os.environ.get("FAIRSEQ_ROPE_DATA") or ROOT.parent / "shared" / "data")
