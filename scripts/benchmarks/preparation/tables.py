"""What was measured of each stage and what WMT14 will take, as figures and as text for a terminal."""

from collections.abc import Sequence

from benchmarks.preparation.extrapolation import Point, linear, power, seconds

WMT14_PAIRS, WMT14_WORDS = 4_520_620, 226_000_000
CORES = (2, 16)


def measured_table(points: dict[str, list[Point]]) -> str:
    """Return a row for each stage and size."""
    rows = [["stage", "pairs", "seconds", "CPU s", "pairs/s", "peak MiB"]]
    for stage, sizes in points.items():
        for pairs, _, (wall, cpu, _, peak) in sizes:
            figures = f"{pairs:,}", f"{wall:.1f}", f"{cpu:.1f}", f"{pairs / wall:,.0f}", f"{peak / 2**20:,.0f}"
            rows.append([stage, *figures])
    return _aligned(rows)


def extrapolation(points: dict[str, list[Point]]) -> dict[str, dict[str, float]]:
    """Return for each stage its CPU seconds, seconds for each number of CORES, and peak bytes, at WMT14's size."""
    figures = {}
    for stage, sizes in points.items():
        grow = power if stage == "learn BPE" else linear
        cpu, main_cpu = (grow(sizes, WMT14_WORDS, field) for field in ("cpu", "main_cpu"))
        times = {f"seconds_on_{cores}": seconds(cpu, main_cpu, cores) for cores in CORES}
        figures[stage] = {"cpu": cpu, **times, "peak": grow(sizes, WMT14_WORDS, "peak")}
    return figures


def extrapolated_table(figures: dict[str, dict[str, float]]) -> str:
    """Return a row for each stage, and their sum."""
    names = ["cpu", *(f"seconds_on_{cores}" for cores in CORES)]
    total = {name: sum(stage[name] for stage in figures.values()) for name in names}
    total["peak"] = max(stage["peak"] for stage in figures.values())
    rows = [["stage", "CPU min", *(f"min on {cores}" for cores in CORES), "peak GiB"]]
    for stage, values in {**figures, "all": total}.items():
        rows.append([stage, *(f"{values[name] / 60:.1f}" for name in names), f"{values['peak'] / 2**30:.2f}"])
    return _aligned(rows)


def _aligned(rows: Sequence[Sequence[str]]) -> str:
    return "\n".join(f"{name:12}" + "".join(f"{cell:>10}" for cell in cells) for name, *cells in rows)
