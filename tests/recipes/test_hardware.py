"""What a recipe asks of fairseq on other hardware than this: recorded by programs in the place of the launchers."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.support import ROOT

LAUNCH = """set -euo pipefail
source scripts/lib/recipe.sh
find_hardware
batch_options options "$BATCH_TOKENS" "$MAX_TOKENS"
launch_training data "${options[@]}"
"""
HARDWARE = {  # settings -> the launcher's arguments
    "the CPU": (
        dict(GPUS="0", PRECISION="fp32"),
        "fairseq-train data --max-tokens 4096 --update-freq 8 --distributed-world-size 1 --cpu",
    ),
    "one GPU": (
        dict(GPUS="1", PRECISION="bf16"),
        "fairseq-train data --max-tokens 4096 --update-freq 8 --distributed-world-size 1 --bf16",
    ),
    "one large GPU": (
        dict(GPUS="1", PRECISION="bf16", MAX_TOKENS="32768"),
        "fairseq-train data --max-tokens 32768 --update-freq 1 --distributed-world-size 1 --bf16",
    ),
    "three GPUs, which do not divide the batch": (
        dict(GPUS="3", PRECISION="fp16"),
        "torchrun --nnodes 1 --node-rank 0 --nproc-per-node 3 --master-addr localhost --master-port 29500 --no-python "
        "fairseq-train data --max-tokens 3640 --update-freq 3 --distributed-world-size 3 --fp16",
    ),
    "four GPUs": (
        dict(GPUS="4", PRECISION="fp16"),
        "torchrun --nnodes 1 --node-rank 0 --nproc-per-node 4 --master-addr localhost --master-port 29500 --no-python "
        "fairseq-train data --max-tokens 4096 --update-freq 2 --distributed-world-size 4 --fp16",
    ),
    "eight GPUs, the paper's": (
        dict(GPUS="8", PRECISION="bf16"),
        "torchrun --nnodes 1 --node-rank 0 --nproc-per-node 8 --master-addr localhost --master-port 29500 --no-python "
        "fairseq-train data --max-tokens 4096 --update-freq 1 --distributed-world-size 8 --bf16",
    ),
    "two nodes of eight": (
        dict(GPUS="8", PRECISION="bf16", NODES="2", NODE_RANK="1", MASTER_ADDR="first", MASTER_PORT="1234"),
        "torchrun --nnodes 2 --node-rank 1 --nproc-per-node 8 --master-addr first --master-port 1234 --no-python "
        "fairseq-train data --max-tokens 2048 --update-freq 1 --distributed-world-size 16 --bf16",
    ),
    "two nodes of one, in a step of SLURM": (
        dict(GPUS="1", PRECISION="bf16", SLURM_NNODES="2", SLURM_NODEID="0", SLURM_JOB_NODELIST="node[7-8]"),
        "torchrun --nnodes 2 --node-rank 0 --nproc-per-node 1 --master-addr node7 --master-port 29500 --no-python "
        "fairseq-train data --max-tokens 4096 --update-freq 4 --distributed-world-size 2 --bf16",
    ),
}
BAD = {
    "precision": (dict(PRECISION="fp8"), "PRECISION must be bf16, fp16 or fp32, but is fp8"),
    "GPUs": (dict(GPUS="all"), "GPUS must be a number, but is all"),
    "rank": (
        dict(NODES="2", NODE_RANK="2", MASTER_ADDR="a"),
        "NODE_RANK must be a number from 0 to NODES - 1, but is 2",
    ),
    "address": (dict(NODES="2"), "2 nodes need MASTER_ADDR"),
    "nodes of CPUs": (dict(NODES="2", MASTER_ADDR="a", GPUS="0"), "several nodes need GPUs, but GPUS is 0"),
    "a batch too small": (dict(BATCH_TOKENS="3"), "a batch of 3 tokens cannot be shared by 4 GPUs"),
}


@pytest.fixture
def recorders(tmp_path: Path) -> Path:
    """A folder with launchers that print how they are called."""
    for name, text in (("torchrun", 'echo torchrun "$@"'), ("fairseq-train", 'echo fairseq-train "$@"')):
        (tmp_path / name).write_text(f"#!/bin/sh\n{text}\n")
    (tmp_path / "scontrol").write_text(
        '#!/bin/sh\n[ "$*" = "show hostnames node[7-8]" ] && printf "node7\\nnode8\\n"\n'
    )
    for path in tmp_path.iterdir():
        path.chmod(0o755)
    return tmp_path


def launch(recorders: Path, **settings: str) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if not re.match("SLURM|MASTER|NODE|GPUS|PRECISION", name)}
    env = {
        **kept,
        "PATH": f"{recorders}{os.pathsep}{os.environ['PATH']}",
        "BATCH_TOKENS": "32768",
        "MAX_TOKENS": "4096",
    }
    return subprocess.run(
        ["bash", "-c", LAUNCH], cwd=ROOT, env={**env, **settings}, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize(("settings", "command"), HARDWARE.values(), ids=HARDWARE)
def test_the_batch_is_the_papers_on_any_hardware(recorders: Path, settings: dict[str, str], command: str):
    done = launch(recorders, **settings)
    assert done.stdout.strip() == command, done.stderr
    workers = int(re.search(r"--distributed-world-size (\d+)", command)[1])
    tokens, frequency = (int(re.search(rf"--{name} (\d+)", command)[1]) for name in ("max-tokens", "update-freq"))
    assert 0 <= 32768 - workers * tokens * frequency < workers * frequency
    assert f"{workers} x --max-tokens {tokens} x --update-freq {frequency}" in done.stderr


@pytest.mark.parametrize(
    ("settings", "expected"),
    [({}, "64 64"), ({"ONEDNN_PRIMITIVE_CACHE_CAPACITY": "7"}, "7 64"), ({"LRU_CACHE_CAPACITY": "7"}, "64 7")],
    ids=["unset", "oneDNN", "ideep"],
)
def test_compiled_products_are_few_on_the_cpu_unless_the_user_says(
    recorders: Path, settings: dict[str, str], expected: str
):
    program = "#!/bin/sh\necho $ONEDNN_PRIMITIVE_CACHE_CAPACITY $LRU_CACHE_CAPACITY\n"
    (recorders / "fairseq-train").write_text(program)
    done = launch(recorders, GPUS="0", PRECISION="fp32", **settings)
    assert done.stdout.strip() == expected, done.stderr


@pytest.mark.parametrize(("settings", "message"), BAD.values(), ids=BAD)
def test_hardware_that_cannot_be_is_an_error(recorders: Path, settings: dict[str, str], message: str):
    done = launch(recorders, **{"GPUS": "4", "PRECISION": "fp16", **settings})
    assert done.returncode != 0 and message in done.stderr and not done.stdout


def test_more_gpus_than_there_are_is_an_error(recorders: Path):
    (recorders / "python").write_text("#!/bin/sh\necho 1 bf16\n")
    (recorders / "python").chmod(0o755)
    done = launch(recorders, GPUS="2")
    assert done.returncode == 1 and not done.stdout
    assert "error: GPUS must be at most 1, which torch sees on this machine, but is 2" in done.stderr


@pytest.mark.parametrize(
    ("settings", "expected"),
    [({}, "10000 -"), ({"GOMP_SPINCOUNT": "7"}, "7 -"), ({"OMP_WAIT_POLICY": "ACTIVE"}, "- ACTIVE")],
    ids=["unset", "spin count", "policy"],
)
def test_threads_spin_briefly_unless_the_user_says(
    recorders: Path, settings: dict[str, str], expected: str, monkeypatch: pytest.MonkeyPatch
):
    for name in ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY"):
        monkeypatch.delenv(name, raising=False)
    (recorders / "fairseq-train").write_text("#!/bin/sh\necho ${GOMP_SPINCOUNT:--} ${OMP_WAIT_POLICY:--}\n")
    assert launch(recorders, GPUS="0", PRECISION="fp32", **settings).stdout.strip() == expected
