"""Record where a run comes from: the command, the code's commit, versions and hardware, one JSON object a line.

    python -m fairseq_rope_data.provenance runs/mine/rope/provenance.jsonl --source . --command "bash scripts/..."

appends a line each time that it is called, as the recipes do before a training begins or goes on: a run may have
several starts, on several machines. Its fields: date (UTC), command, commit (with -dirty where files were changed),
versions, processor, instructions (those that speed depends on), cores, memory_gib, gpus, threads (null: torch chooses),
precision (of --precision: fp32, bf16 or fp16; null where it is not given).
"""

import datetime
import json
import os
import platform
import subprocess
from pathlib import Path
from typing import Any

from fairseq_rope_data import cli
from fairseq_rope_data.errors import run
from fairseq_rope_data.files import named_when_full
from fairseq_rope_data.manifest import versions

INSTRUCTIONS = ("avx2", "avx512f", "avx512_vnni", "avx512_bf16", "amx_tile")  # as /proc/cpuinfo names them


def provenance(source: Path, command: str, precision: str | None = None) -> dict[str, Any]:
    """Return what is recorded of a start.

    Args:
        source: a folder of the code's repository.
        command: as the user gave it.
        precision: that of the training.
    """
    return {
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "command": command,
        "commit": commit(source),
        "versions": versions(),
        **hardware(),
        "threads": os.environ.get("OMP_NUM_THREADS"),
        "precision": precision,
    }


def commit(source: Path) -> str | None:
    """Return the commit that `source` is at, with -dirty where files differ from it; None without a repository."""
    found = _output(["git", "-C", str(source), "describe", "--always", "--dirty", "--abbrev=7", "--exclude=*"])
    return found[0] if found else None


def hardware() -> dict[str, Any]:
    """Return processor, its instructions, cores that this process may use, memory and GPUs of this machine."""
    cpuinfo = lines("/proc/cpuinfo")
    flags = {flag for line in cpuinfo if line.startswith("flags") for flag in line.partition(":")[2].split()}
    kibibytes = [int(line.split()[1]) for line in lines("/proc/meminfo") if line.startswith("MemTotal:")]
    return {
        "processor": processor(),
        "instructions": [name for name in INSTRUCTIONS if name in flags],
        "cores": len(os.sched_getaffinity(0)),
        "memory_gib": round(sum(kibibytes) / 1024**2, 1),
        "gpus": _output(["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"]),
    }


def processor() -> str:
    """Return what this machine's processor calls itself."""
    names = [line.partition(": ")[2] for line in lines("/proc/cpuinfo") if line.startswith("model name")]
    return names[0] if names else platform.processor()


def lines(path: str | Path) -> list[str]:
    """Return the lines of a file of the system; none where it cannot be read."""
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []


def _output(command: list[str]) -> list[str]:
    """Return the lines that a program prints; none where it fails or is not there."""
    try:
        return subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout.splitlines()
    except (OSError, subprocess.SubprocessError):
        return []


def main() -> None:
    parser = cli.parser(__doc__, "provenance")
    parser.add_argument("file", type=Path, metavar="FILE", help="a line is appended to it")
    parser.add_argument("--source", type=Path, required=True, metavar="DIR", help="the code that runs")
    parser.add_argument("--command", default="", help="what the user called")
    parser.add_argument("--precision", choices=("fp32", "bf16", "fp16"), help="what the training computes in")
    options = parser.parse_args()
    line = json.dumps(provenance(options.source, options.command, options.precision), ensure_ascii=False)
    with named_when_full(str(options.file)), options.file.open("a", encoding="utf-8") as file:
        file.write(f"{line}\n")


if __name__ == "__main__":
    run("provenance", main)
