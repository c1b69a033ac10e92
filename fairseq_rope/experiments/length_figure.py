"""A score over lengths as a picture; needs matplotlib, the extra `plot`."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fairseq_rope.experiments.figure import MARKERS, PALETTE, empty_figure, label, line_style, write_figure
from fairseq_rope.experiments.length_curves import Point


def draw_length_curves(
    curves: Mapping[str, Sequence[Point]], output: Path, *, score: str, unit: str = "sentences"
) -> None:
    """Draw a score over lengths by the longest training example, a line for each model, into the PNG `output`.

    Whiskers are standard deviations over seeds; what is no longer than in training is shaded.

    Args:
        curves: the title of each model -> its points; one without a mean is left out.
        output: the picture.
        score: its name.
        unit: of sizes.

    Raises:
        UserError: matplotlib is not installed.
    """
    figure = empty_figure(7, 4.5)
    plot_length_curves(figure, figure.add_subplot(), curves, score=score, unit=unit)
    write_figure(figure, output)


def plot_length_curves(
    figure: Any,
    axes: Any,
    curves: Mapping[str, Sequence[Point]],
    *,
    score: str,
    unit: str = "sentences",
    colors: Sequence[str] = PALETTE,
) -> None:
    """Draw into a figure what `draw_length_curves` writes, in these eight colors."""
    shown = {title: [point for point in points if point.mean is not None] for title, points in curves.items()}
    drawn = [(title, points) for title, points in shown.items() if points]
    for i, (title, points) in enumerate(drawn):
        style = {**line_style(i, colors), "marker": MARKERS[i % 8]}
        lengths, means = [point.length for point in points], [point.mean for point in points]
        axes.errorbar(
            lengths, means, yerr=[point.deviation or 0 for point in points], label=label(title), capsize=3, **style
        )
    sizes = {point.length: point.size for _, points in drawn for point in points}
    axes.set_xscale("log", base=2)
    low = min(sizes, default=0.5) / 1.2
    axes.axvspan(low, 1, color="0.5", alpha=0.2, linewidth=0, zorder=0)
    axes.set(
        xlim=(low, max(1.2, *sizes, 0) * 1.2), xlabel=f"mean length by the longest in training ({unit})", ylabel=score
    )
    axes.set_xticks(list(sizes), [f"{length:.2g}\n({size})" for length, size in sizes.items()])
    axes.minorticks_off()
    axes.grid(alpha=0.3)
    figure.legend(loc="outside right upper")
