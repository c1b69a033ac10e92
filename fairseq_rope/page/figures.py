"""The figures of the page, each with the table of its numbers: for screen readers, and to copy from."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fairseq_rope.experiments.figure import MARKERS, label, line_style
from fairseq_rope.experiments.length_curves import Point, curve_notes
from fairseq_rope.experiments.length_figure import plot_length_curves
from fairseq_rope.experiments.statistic import ways_text
from fairseq_rope.page.svg import COLORS, page_style, svg_text
from fairseq_rope.page.tables import PageTable, text_table


@dataclass(frozen=True)
class PageFigure:
    """A figure and its numbers.

    Args:
        title: what it shows.
        caption: how it is to be read.
        svg: the SVG element.
        table: its numbers.
        notes: what it leaves out.
    """

    title: str
    caption: str
    svg: str
    table: PageTable
    notes: Sequence[str] = ()


def length_figure(models: Mapping[str, Any], test_set: str) -> PageFigure | None:
    """Draw BLEU by the words of the source; None where no model has it.

    Args:
        models: those of `experiments.data.results_data`.
        test_set: its name.
    """
    buckets = {name: model["buckets"].get(test_set, []) for name, model in models.items()}
    names = list(dict.fromkeys((each["words"], each["sentences"]) for row in buckets.values() for each in row))
    if not names:
        return None
    with page_style(f"length-{test_set}") as (figure, axes):
        for i, (name, row) in enumerate(buckets.items()):
            # side by side, or one would hide the other
            shift = (i - (len(buckets) - 1) / 2) * 0.6 / len(buckets)
            shown = [each for each in row if each["mean"] is not None]
            places = [names.index((each["words"], each["sentences"])) + shift for each in shown]
            means = [each["mean"] for each in shown]
            # none below zero: where an interval ends at its mean, rounding may have moved it beyond
            whiskers = [
                [max(mean - _end(each, "low"), 0.0) for mean, each in zip(means, shown, strict=True)],
                [max(_end(each, "high") - mean, 0.0) for mean, each in zip(means, shown, strict=True)],
            ]
            style = line_style(i, COLORS)
            axes.errorbar(places, means, yerr=whiskers, **style, marker=MARKERS[i % 8], label=label(name), capsize=3)
        axes.set_xticks(range(len(names)), [f"{words}\n({count:,})" for words, count in names])
        axes.set(xlabel="words of the source (sentences)", ylabel="BLEU")
        axes.grid(alpha=0.2, axis="y")
        axes.legend()
        svg = svg_text(figure)
    found = [{(each["words"], each["sentences"]): each for each in row} for row in buckets.values()]
    rows = [
        [f"{words} words, {count:,} sentences", *(_bucket_cell(row.get((words, count))) for row in found)]
        for words, count in names
    ]
    caption = "Means over seeds"
    if any(each.get("low") is not None for row in buckets.values() for each in row):
        caption += "; whiskers are 95% bootstrap intervals, the noise of the test set"
    notes = [
        f"note on {name}, {each['words']} words: left out, {ways_text(each['ways'])}"
        for name, row in buckets.items()
        for each in row
        if each["ways"] > 1
    ]
    return PageFigure(f"BLEU by length, {test_set}", f"{caption}.", svg, text_table(["source", *buckets], rows), notes)


def windows_figure(curves: Mapping[str, Sequence[Point]], test_set: str) -> PageFigure:
    """Draw BLEU of windows of several sentences over their length by the longest training example.

    Args:
        curves: of `experiments.length_curves`.
        test_set: its name.
    """
    caption = "Whiskers are standard deviations over seeds; shaded is what is no longer than the longest in training."
    title = f"BLEU of windows of several sentences, {test_set}"
    return _over_lengths(curves, f"windows-{test_set}", ("BLEU", "sentences", ".2f"), title, caption)


def blocks_figure(curves: Mapping[str, Sequence[Point]], test_set: str) -> PageFigure:
    """Draw bits of masked tokens over the length of blocks by that of training.

    Args:
        curves: of `experiments.block_curves`.
        test_set: its name.
    """
    caption = (
        "Whiskers are standard deviations over seeds; shaded is what is no longer than in training. Lower is better."
    )
    title = f"Bits a masked token by the length of blocks, {test_set}"
    return _over_lengths(curves, f"blocks-{test_set}", ("bits", "tokens", ".3f"), title, caption)


def _over_lengths(
    curves: Mapping[str, Sequence[Point]], name: str, units: tuple[str, str, str], title: str, caption: str
) -> PageFigure:
    """Draw a score over lengths; `units` are the score's name, what sizes count, and how the score is written."""
    score, unit, spec = units
    shown = {model: points for model, points in curves.items() if points}
    with page_style(name) as (figure, axes):
        plot_length_curves(figure, axes, shown, score=score, unit=unit, colors=COLORS)
        svg = svg_text(figure)
    rows = []
    # models may have been trained on other lengths
    for size, length in sorted({(point.size, point.length) for points in shown.values() for point in points}):
        found = [next((x for x in points if (x.size, x.length) == (size, length)), None) for points in shown.values()]
        rows.append([f"{size} ({length:.2f})", *(_point_cell(point, spec) for point in found)])
    table = text_table([f"{unit} (mean length by the longest in training)", *shown], rows)
    return PageFigure(title, caption, svg, table, curve_notes(curves, unit))


def _point_cell(point: Point | None, spec: str) -> str:
    if point is None:
        return ""
    text = ways_text(point.ways) if point.mean is None else f"{point.mean:{spec}}"
    if point.deviation is not None:
        text += f" ± {point.deviation:{spec}}"
    return f"{text} ({point.counted})" if point.counted else text


def _end(bucket: Mapping[str, Any], name: str) -> float:
    return bucket[name] if bucket.get(name) is not None else bucket["mean"]


def _bucket_cell(bucket: Mapping[str, Any] | None) -> str:
    if bucket is None:
        return ""
    if bucket["ways"] > 1:
        return ways_text(bucket["ways"])
    if bucket.get("low") is None:
        return f"{bucket['mean']:.2f}"
    return f"{bucket['mean']:.2f} [{bucket['low']:.2f}, {bucket['high']:.2f}]"
