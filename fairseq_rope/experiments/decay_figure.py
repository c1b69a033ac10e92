"""Decay and measured attention as a picture; needs matplotlib, the extra `plot`."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from torch import Tensor

from fairseq_rope.experiments.decay import SIDES, Decay
from fairseq_rope.experiments.decay_text import Measured
from fairseq_rope.experiments.distance_sums import StackAttention
from fairseq_rope.experiments.figure import empty_figure, label, line_style, write_figure

# distances with fewer pairs are noise
MIN_PAIRS = 100


def draw_decay(decays: Sequence[Decay], measured: Measured, output: Path) -> None:
    """Draw the bound, the mean cosine, and the measured attention of encoders and decoders, a panel each.

    Attention is that of the mean layer, by even attention; of a single model the layers are thin lines, and below each
    layer has a panel of its own with its heads. Distances that fewer than `MIN_PAIRS` pairs have are left out.

    Args:
        decays: of rotations; the first two panels are there if there are any.
        measured: of models; likewise the next two.
        output: the picture, SVG or PNG.

    Raises:
        UserError: matplotlib is not installed.
    """
    alone = next(iter(measured.values())) if len(measured) == 1 else {}
    layers = max((len(found.weights) for found in alone.values()), default=0)
    rows = bool(decays) + bool(measured) + layers
    figure = empty_figure(9, 4 * (rows - layers) + 3 * layers)
    grid = iter(figure.subplots(rows, 2, squeeze=False, height_ratios=[4] * (rows - layers) + [3] * layers))
    if decays:
        _draw_formulas(decays, next(grid))
    if measured:
        for axes, side in zip(next(grid), SIDES, strict=True):
            _draw_models({title: stacks[side] for title, stacks in measured.items()}, axes)
            _name(axes, f"attention of the {side}")
    for number, panels in enumerate(grid):
        for axes, side in zip(panels, SIDES, strict=True):
            if number < len(alone[side].weights):
                _draw_layer(alone[side], number, axes)
                _name(axes, f"heads of the {side}'s layer {number + 1}")
            else:
                axes.remove()  # the other stack has more layers
    for axes in figure.axes:
        axes.grid(alpha=0.3)
        axes.legend(fontsize="small")
    write_figure(figure, output)


def _draw_formulas(decays: Sequence[Decay], panels: Sequence[Any]) -> None:
    shown = (("bound", "bound of scores B(n) (RoFormer, eq. 37)"), ("cosine", "mean of cos(n θ)"))
    for axes, (name, title) in zip(panels, shown, strict=True):
        for i, decay in enumerate(decays):
            axes.plot(getattr(decay, name).tolist(), label=decay.title, **line_style(i))
        axes.set(title=title, xlabel="distance n")


def _draw_models(models: Mapping[str, StackAttention], axes: Any) -> None:
    is_alone = len(models) == 1
    for i, (title, found) in enumerate(models.items()):
        layers = found.relative.mean(dim=1)
        for number, layer in enumerate(layers if is_alone else (), 1):
            _draw(found, layer, axes, linewidth=0.8, label=f"layer {number}", **line_style(number))
        _draw(found, layers.mean(dim=0), axes, label="mean of layers" if is_alone else label(title), **line_style(i))


def _draw_layer(found: StackAttention, number: int, axes: Any) -> None:
    heads = found.relative[number]
    for head, values in enumerate(heads, 1):
        _draw(found, values, axes, linewidth=0.8, label=f"head {head}", **line_style(head))
    _draw(found, heads.mean(dim=0), axes, label="mean of heads", **line_style(0))


def _draw(found: StackAttention, values: Tensor, axes: Any, **options: Any) -> None:
    """Draw a line over the distances that have pairs enough, (N,)."""
    enough = found.pairs >= MIN_PAIRS
    axes.plot(found.distances[enough].tolist(), values[enough].tolist(), **options)


def _name(axes: Any, title: str) -> None:
    axes.axhline(1, color="0.5", linestyle=":")
    axes.set(title=title, xlabel="key's position - query's", ylabel="weight / even weight")
    axes.set_yscale("log", base=2)
    axes.yaxis.set_major_formatter("{x:g}")
