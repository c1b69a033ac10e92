"""Decay and measured attention as a picture; needs matplotlib, the extra `plot`."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fairseq_rope.experiments.attention_distances import StackAttention
from fairseq_rope.experiments.decay import SIDES, Decay
from fairseq_rope.experiments.decay_text import Measured
from fairseq_rope.experiments.figure import empty_figure, line_style, write_figure

# distances with fewer pairs are noise
MIN_PAIRS = 100


def draw_decay(decays: Sequence[Decay], measured: Measured, output: Path) -> None:
    """Draw the bound, the mean cosine, and the measured attention of encoders and decoders, a panel each.

    Attention is that of the mean layer, by even attention; of a single model the layers are thin lines. Distances that
    fewer than `MIN_PAIRS` pairs have are left out.

    Args:
        decays: of rotations; the first two panels are there if there are any.
        measured: of models; likewise the last two.
        output: the picture, SVG or PNG.

    Raises:
        UserError: matplotlib is not installed.
    """
    rows = bool(decays) + bool(measured)
    figure = empty_figure(9, 4 * rows)
    all_axes = iter(figure.subplots(rows, 2).flat)
    if decays:
        for name, title in (("bound", "bound of scores B(n) (RoFormer, eq. 37)"), ("cosine", "mean of cos(n θ)")):
            axes = next(all_axes)
            for i, decay in enumerate(decays):
                axes.plot(getattr(decay, name).tolist(), label=decay.title, **line_style(i))
            axes.set(title=title, xlabel="distance n")
    for side in SIDES if measured else ():
        axes = next(all_axes)
        for i, (title, stacks) in enumerate(measured.items()):
            is_alone = len(measured) == 1
            label = "mean of layers" if is_alone else title
            _draw_attention(axes, stacks[side], layers=is_alone, label=label, **line_style(i))
        axes.axhline(1, color="0.5", linestyle=":")
        axes.set(title=f"attention of the {side}", xlabel="key's position - query's", ylabel="weight / even weight")
        axes.set_yscale("log", base=2)
        axes.yaxis.set_major_formatter("{x:g}")
    for axes in figure.axes:
        axes.grid(alpha=0.3)
        axes.legend(fontsize="small")
    write_figure(figure, output)


def _draw_attention(axes: Any, found: StackAttention, *, layers: bool, **options: str) -> None:
    enough = found.pairs >= MIN_PAIRS
    distances, relative = found.distances[enough].tolist(), found.relative[:, enough]
    for number, layer in enumerate(relative if layers else (), 1):
        axes.plot(distances, layer.tolist(), linewidth=0.8, label=f"layer {number}", **line_style(number))
    axes.plot(distances, relative.mean(dim=0).tolist(), **options)
