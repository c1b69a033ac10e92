"""Time and memory of this process, on the CPU and on a GPU."""

import resource
import time
from collections.abc import Callable
from pathlib import Path


def timed(work: Callable[[], object], device: str) -> float:
    """Return the seconds that `work` takes; on a GPU until that has finished too."""
    import torch

    if device == "cuda":
        torch.cuda.synchronize()
    start = time.perf_counter()
    work()
    if device == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter() - start


def peak_memory(device: str) -> int:
    """Return this process's peak memory in bytes: allocated by torch on the GPU, or resident on the host."""
    import torch

    if device == "cuda":
        return torch.cuda.max_memory_allocated()
    # not getrusage's: that begins with the peak of the process that started this one
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return int(status["VmHWM"].split()[0]) * 1024


def limit_memory(size: int) -> None:
    """Make allocations above `size` bytes of memory in this process fail, before the system has to kill a process."""
    resource.setrlimit(resource.RLIMIT_DATA, (size, size))


def is_out_of_memory(error: BaseException) -> bool:
    """Return whether an exception says that memory, of GPU or host, was too small."""
    import torch

    if isinstance(error, MemoryError | torch.OutOfMemoryError):
        return True
    # what torch's allocator, the C++ library and oneDNN say on the host
    signs = ("allocate memory", "bad_alloc", "out of memory", "out_of_memory")
    return isinstance(error, RuntimeError) and any(sign in str(error) for sign in signs)


def free_memory(device: str) -> None:
    """Free what no tensor uses: two processes share a GPU."""
    import gc

    import torch

    gc.collect()
    if device == "cuda":
        torch.cuda.empty_cache()
