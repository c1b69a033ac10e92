"""WMT14's recipe with models that learn nothing in no time, on the server of `mirror`."""

import subprocess
from pathlib import Path

from tests.support import ROOT
from tests.support.environment import environment, forking_environment
from tests.support.mirror import served

CONF = """# The experiment with models that learn nothing in no time.
# shellcheck shell=bash disable=SC2034
source "$ROOT/scripts/conf/wmt14_ende_base.env"
BPE_MERGES=300
SIZE=(--encoder-layers 1 --encoder-embed-dim 32 --encoder-ffn-embed-dim 64 --encoder-attention-heads 2
  --decoder-layers 1 --decoder-embed-dim 32 --decoder-ffn-embed-dim 64 --decoder-attention-heads 2)
MODEL_ROPE+=("${SIZE[@]}")
MODEL_SINUSOIDAL+=("${SIZE[@]}")
BATCH_TOKENS=4096
TRAIN+=(--max-update 8 --warmup-updates 4)
SAVE=(--save-interval-updates 2 --keep-interval-updates 3 --no-epoch-checkpoints --validate-interval-updates 4)
AVERAGE=(--num-update-checkpoints 2)
GENERATE+=(--max-len-b 5)
"""
STAGES = ("fetch", "prepare", "train", "average", "evaluate")


def command(conf: Path, *arguments: str) -> list[str]:
    """Return the recipe's command line."""
    return ["bash", "scripts/run_wmt14_ende.sh", "--conf", str(conf), *arguments]


def settings(work: Path, address: str, *, forks: bool = False, **others: str) -> dict[str, object]:
    """Return the folder and the environment of a run with the server at `address`, for subprocess."""
    variables = {"WMT14_SUBSET": "1", "WMT14_MIRROR": address, "MODELS": "rope", **others}
    return {"cwd": ROOT, "env": (forking_environment if forks else environment)(work, **variables)}


def run(mirror: Path, work: Path, *arguments: str, **others: str) -> subprocess.CompletedProcess[str]:
    """Run the recipe with the archives and the `conf.env` of the folder `mirror`."""
    with served(mirror) as (address, _):
        options = settings(work, address, forks=True, **others)
        return subprocess.run(
            command(mirror / "conf.env", *arguments), **options, capture_output=True, text=True, check=False
        )
