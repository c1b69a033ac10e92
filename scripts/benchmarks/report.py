"""What was measured, as rows: medians, spread, ratios; where, and with what."""

import platform
import statistics
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from benchmarks.worker import Repetition


@dataclass
class Measured:
    """All repetitions of one model in one setting, and its process's peak memory in bytes."""

    repetitions: list[Repetition]
    peak: int

    def speeds(self) -> list[float]:
        """Give tokens a second of each repetition."""
        return [repetition.tokens / repetition.seconds for repetition in self.repetitions]


def row(name: str, stock: Measured, rope: Measured) -> dict[str, Any]:
    """Compare two models; a ratio above 1 is in favour of the rotary one, for memory below 1."""
    speeds = {model: measured.speeds() for model, measured in (("stock", stock), ("rope", rope))}
    ratios = [ours / theirs for ours, theirs in zip(speeds["rope"], speeds["stock"], strict=True)]
    return {
        "name": name,
        **{f"{model} tokens/s": statistics.median(values) for model, values in speeds.items()},
        **{f"{model} tokens/s, all": values for model, values in speeds.items()},
        "speed": statistics.median(ratios),
        "speed, all": ratios,
        "stock peak": stock.peak,
        "rope peak": rope.peak,
        "memory": rope.peak / stock.peak,
    }


def table(rows: list[dict[str, Any]]) -> str:
    """Lay rows out in Markdown; a spread is the least and the greatest."""
    lines = [
        "| measurement | stock, tokens/s | rope, tokens/s | speed (least to greatest) | stock, MiB | rope, MiB | memory |",
        "|---|---|---|---|---|---|---|",
    ]
    for entry in rows:
        cells = [
            entry["name"],
            f"{entry['stock tokens/s']:,.0f}",
            f"{entry['rope tokens/s']:,.0f}",
            f"{entry['speed']:.2f}x ({min(entry['speed, all']):.2f} to {max(entry['speed, all']):.2f})",
            f"{entry['stock peak'] / 2**20:,.0f}",
            f"{entry['rope peak'] / 2**20:,.0f}",
            f"{entry['memory']:.2f}x",
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def environment(device: str) -> dict[str, str]:
    """Give hardware and versions."""
    import torch

    found = {"python": platform.python_version(), "torch": torch.__version__, "threads": str(torch.get_num_threads())}
    for name in ("fairseq", "fairseq-fixed", "ctranslate2"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    info = Path("/proc/cpuinfo")
    names = [line.split(":")[1].strip() for line in info.read_text().splitlines() if line.startswith("model name")]
    found["CPU"] = f"{names[0]}, {len(names)} cores" if names else platform.processor()
    if device == "cuda":
        found["GPU"] = torch.cuda.get_device_name()
    return found
