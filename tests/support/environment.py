"""The environment that recipes are tested in."""

import os
import sys
from pathlib import Path


def environment(work: Path, **settings: str) -> dict[str, str]:
    """This interpreter's environment for a recipe that works in `work`."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith(("MULTI30K", "PREPARED", "BASELINE"))
    }
    threads = {"OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
    return {**kept, **threads, "PATH": path, "FAIRSEQ_ROPE_ENV": "none", "WORK": str(work), **settings}
