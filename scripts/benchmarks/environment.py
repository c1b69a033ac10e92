"""Hardware, versions and memory of this machine."""

import contextlib
import os
import platform
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import fairseq_rope

# settings of a user's that change speed or memory
_SETTINGS = (
    *("LD_PRELOAD", "MALLOC_CONF", "ONEDNN_PRIMITIVE_CACHE_CAPACITY"),
    *("OMP_NUM_THREADS", "OMP_WAIT_POLICY", "GOMP_SPINCOUNT"),
)
_ROOT = Path(__file__).resolve().parents[2]


def environment(device: str) -> dict[str, str]:
    """Give hardware and versions, and how busy the machine was before."""
    import torch

    found = {"fairseq_rope": fairseq_rope.__version__}
    with contextlib.suppress(OSError, subprocess.CalledProcessError):
        command = ["git", "-C", str(_ROOT), "describe", "--always", "--dirty", "--abbrev=7"]
        found["commit"] = subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
    for name in ("fairseq", "fairseq-fixed"):
        with contextlib.suppress(PackageNotFoundError):
            found[name] = version(name)
    found |= {"Python": platform.python_version(), "torch": torch.__version__}
    names = [line.split(":")[1].strip() for line in _lines("/proc/cpuinfo") if line.startswith("model name")]
    found["CPU"] = f"{names[0] if names else platform.processor()}, {len(os.sched_getaffinity(0))} cores"
    found["threads"] = str(torch.get_num_threads())
    if device == "cuda":
        found |= {"GPU": torch.cuda.get_device_name(), "CUDA": str(torch.version.cuda)}
    found |= {name: os.environ[name] for name in _SETTINGS if os.environ.get(name)}
    found["load before"] = f"{os.getloadavg()[0]:.2f}"
    return found


def available_memory() -> int:
    """Give the bytes of memory that programs can still have: of the machine, or of the container where that is less."""
    free = [int(line.split()[1]) * 1024 for line in _lines("/proc/meminfo") if line.startswith("MemAvailable:")]
    folder = Path("/sys/fs/cgroup")
    limit, used = (_lines(folder / name) for name in ("memory.max", "memory.current"))
    if limit and used and limit[0] != "max":
        free.append(int(limit[0]) - int(used[0]))
    return min(free, default=0)


def _lines(path: str | Path) -> list[str]:
    try:
        return Path(path).read_text().splitlines()
    except OSError:
        return []
