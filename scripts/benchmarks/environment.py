"""Hardware, versions and memory of this machine."""

import contextlib
import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import fairseq_rope
from fairseq_rope_data.provenance import commit, lines, processor

# settings of a user's that change speed or memory
_SETTINGS = (
    *("LD_PRELOAD", "MALLOC_CONF", "GLIBC_TUNABLES", "ONEDNN_PRIMITIVE_CACHE_CAPACITY"),
    *("MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_", "MALLOC_TOP_PAD_", "MALLOC_MMAP_MAX_"),
    *("OMP_NUM_THREADS", "OMP_WAIT_POLICY", "GOMP_SPINCOUNT"),
)
CORES = len(os.sched_getaffinity(0))  # that this process may use
_ROOT = Path(__file__).resolve().parents[2]


def environment(device: str) -> dict[str, str]:
    """Return hardware and versions, and how busy the machine was before."""
    import torch

    facts = {"fairseq_rope": fairseq_rope.__version__}
    if (known := commit(_ROOT)) is not None:
        facts["commit"] = known
    for name in ("fairseq", "fairseq-fixed"):
        with contextlib.suppress(PackageNotFoundError):
            facts[name] = version(name)
    facts |= {"Python": platform.python_version(), "torch": torch.__version__}
    facts["CPU"] = f"{processor()}, {CORES} cores"
    facts["threads"] = str(torch.get_num_threads())
    if device == "cuda":
        facts |= {"GPU": torch.cuda.get_device_name(), "CUDA": str(torch.version.cuda)}
    facts |= {name: os.environ[name] for name in _SETTINGS if os.environ.get(name)}
    facts["load before"] = f"{os.getloadavg()[0]:.2f}"
    return facts


def available_memory() -> int:
    """Return the bytes of memory that programs can still have: the machine's, or the container's if less."""
    free = [int(line.split()[1]) * 1024 for line in lines("/proc/meminfo") if line.startswith("MemAvailable:")]
    folder = Path("/sys/fs/cgroup")
    limit, used = (lines(folder / name) for name in ("memory.max", "memory.current"))
    if limit and used and limit[0] != "max":
        free.append(int(limit[0]) - int(used[0]))
    return min(free, default=0)
