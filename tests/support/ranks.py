"""A training by two processes on one machine."""

import os
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.support import ROOT, forked


def start(*arguments: str) -> subprocess.Popen[bytes]:
    """Start `python -m arguments` from the repository's root on one core."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
    pipe = subprocess.PIPE
    return subprocess.Popen([sys.executable, "-m", *arguments], stdout=pipe, stderr=pipe, cwd=ROOT, env=environment)


def train_on_two_ranks(command: list[str], save: Path) -> str:
    """Run a fairseq-train, its module first, as two ranks, and return what the first one printed."""
    with socket.socket() as free:
        free.bind(("localhost", 0))
        address = f"tcp://localhost:{free.getsockname()[1]}"
    shared = ("--distributed-world-size", "2", "--distributed-init-method", address, "--distributed-no-spawn")
    # on the CPU fairseq gives torch's own DDP a GPU number, which it refuses
    backend = ("--distributed-backend", "gloo", "--ddp-backend", "legacy_ddp", "--save-dir", str(save))
    ranks = [(*command, *shared, *backend, "--distributed-rank", str(rank)) for rank in range(2)]
    with ThreadPoolExecutor(len(ranks)) as pool:
        done = list(pool.map(lambda words: forked.run(*words), ranks))
    outputs = [rank.stdout + rank.stderr for rank in done]
    assert [rank.returncode for rank in done] == [0, 0], outputs[0][-3000:] + outputs[1][-3000:]
    return outputs[0]
