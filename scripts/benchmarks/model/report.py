"""What was measured, as rows and tables: medians, spread and ratios."""

import statistics
from collections.abc import Sequence
from typing import Any

from benchmarks.model import profile
from benchmarks.model.compare import Measured
from benchmarks.model.spec import TRAINED
from benchmarks.model.worker import NO_EFFECT, OUT_OF_MEMORY
from benchmarks.report import Row, ranged, spread, table
from fairseq_rope_data.errors import UserError

MIB = 2**20


def compared(row: Row, baseline: dict[str, Measured], rope: Measured) -> Row:
    """Return a row completed with two models and their ratios, repetition by repetition.

    Args:
        row: the setting.
        baseline: what was measured of fairseq's model, or of ours without a trick, by its name.
        rope: the same of the rotary one.

    Returns: `row` with both models, and where both could be measured `speed` (rope's tokens a second to the
        baseline's, above 1 in favor of rope) and `memory` (its peak to the baseline's, below 1 in favor of rope).

    Raises:
        UserError: options made them train on other tokens, or translate into others where lengths are forced.
    """
    ((name, other),) = baseline.items()
    row = {**row, "models": {name: _with_speed(other), "rope": _with_speed(rope)}}
    if "error" in other or "error" in rope:
        return row
    if row.get("lengths") != TRAINED and other["tokens"] != rope["tokens"]:
        counts = f"{name} {other['tokens']}, rope {rope['tokens']}"
        raise UserError(f"the models must see the same batches, but their tokens are: {counts}")
    rates = zip(*(model["tokens_per_second"]["all"] for model in row["models"].values()), strict=True)
    return {**row, "speed": spread([ours / its for its, ours in rates]), "memory": rope["peak"] / other["peak"]}


def rotation(row: Row, rope: Measured) -> Row:
    """Return a row completed with the rotation's `share` of a step's time, in percent, repetition by repetition."""
    row = {**row, "models": {"rope": _with_speed(rope)}}
    if "error" in rope:
        return row
    pairs = zip(rope["seconds"], rope["seconds_without"], strict=True)
    return {**row, "share": spread([100 * (1 - without / seconds) for seconds, without in pairs])}


def _with_speed(measured: Measured) -> Measured:
    if "error" in measured:
        return measured
    result = dict(measured)
    for name in ("tokens", "sentences"):
        rates = (count / seconds for count, seconds in zip(measured[name], measured["seconds"], strict=True))
        result[f"{name}_per_second"] = spread(list(rates))
    if "steps" in measured:
        times = (seconds / steps for seconds, steps in zip(measured["seconds"], measured["steps"], strict=True))
        result["seconds_per_step"] = spread(list(times))
    return result


def failed(row: Row) -> bool:
    """Return whether a model could not be measured, for another reason than memory or a trick without effect."""
    reasons = {measured.get("error", OUT_OF_MEMORY) for measured in row["models"].values()}
    return not reasons <= {OUT_OF_MEMORY, NO_EFFECT}


def notes(row: Row) -> list[str]:
    """Return what a reader of the row has to know beside its figures."""
    lines = []
    for model, measured in row["models"].items():
        if count := sum(measured.get("skipped", [])):
            lines.append(f"{count} steps of {model} overflowed in fp16 and left the weights alone")
    tokens = [measured["tokens"][0] for measured in row["models"].values() if "tokens" in measured]
    if len(set(tokens)) > 1:
        lines.append(f"translations as long as the models want: {tokens[0]:,} tokens of stock, {tokens[1]:,} of rope")
    return lines


def tables(rows: Sequence[Row]) -> str:
    """Return a table in Markdown for each kind; a spread is the least and the greatest."""
    parts = []
    for kind, columns in COLUMNS.items():
        cells = {heading: [cell(row) for row in rows if row["kind"] == kind] for heading, cell in columns.items()}
        # a column without a figure is left out
        if shown := {heading: column for heading, column in cells.items() if set(column) - {"-"}}:
            parts.append(table(list(shown), zip(*shown.values(), strict=True)))
    return "\n\n".join(parts)


def _median(model: str, name: str, *, digits: int = 0, scale: float = 1) -> Any:
    def cell(row: Row) -> str:
        measured = row["models"][model]
        return measured.get("error") or f"{measured[name]['median'] * scale:,.{digits}f}"

    return cell


def _speed(row: Row) -> str:
    return ranged(row["speed"]["all"], "{:.2f}x") if "speed" in row else "-"


def _share(row: Row) -> str:
    return ranged(row["share"]["all"], "{:.1f} %") if "share" in row else "-"


def _memory(row: Row) -> str:
    models = row["models"].values()
    peaks = " / ".join(f"{measured['peak'] / MIB:,.0f}" if "peak" in measured else "-" for measured in models)
    return f"{peaks} = {row['memory']:.2f}x" if "memory" in row else peaks


def _padding(row: Row) -> str:
    rope = row["models"]["rope"]
    return f"{100 * sum(rope.get('padding', [])) / sum(rope['padded']):.0f} %" if "padded" in rope else "-"


def _utilization(row: Row) -> str:
    shares = [measured.get("utilization") for measured in row["models"].values()]
    cells = [f"{100 * statistics.median(share):.0f} %" if share else "-" for share in shares]
    return " / ".join(cells) if any(shares) else "-"


def _part(name: str) -> Any:
    def cell(row: Row) -> str:
        return " / ".join(_share_of(name, measured) for measured in row["models"].values())

    return cell


def _share_of(part: str, measured: Measured) -> str:
    if "parts" not in measured:
        return "-"
    steps = zip(measured["parts"], measured["seconds"], strict=True)
    return f"{100 * statistics.median(parts[part] / seconds for parts, seconds in steps):.0f} %"


_SETTING = {"size": lambda row: row["size"], "type": lambda row: row["dtype"]}
_MEMORY = {"peak MiB, stock / rope": _memory}
COLUMNS: dict[str, dict[str, Any]] = {  # kind -> heading -> the cell of a row
    "train": {
        **_SETTING,
        "tokens a batch": lambda row: f"{row['max_tokens']:,}",
        "stock, tokens/s": _median("stock", "tokens_per_second"),
        "rope, tokens/s": _median("rope", "tokens_per_second"),
        "speed": _speed,
        **_MEMORY,
        "utilization, stock / rope": _utilization,
        "padding": _padding,
    },
    "masked": {
        **_SETTING,
        "block": lambda row: f"{row['block']:,}",
        "tokens a batch": lambda row: f"{row['max_tokens']:,}",
        "roberta, tokens/s": _median("stock", "tokens_per_second"),
        "roformer, tokens/s": _median("rope", "tokens_per_second"),
        "speed": _speed,
        **_MEMORY,
        "utilization, roberta / roformer": _utilization,
    },
    "finetune": {
        **_SETTING,
        "tokens a batch": lambda row: f"{row['max_tokens']:,}",
        "roberta, tokens/s": _median("stock", "tokens_per_second"),
        "roformer, tokens/s": _median("rope", "tokens_per_second"),
        "speed": _speed,
        **_MEMORY,
        "padding": _padding,
    },
    "generate": {
        **_SETTING,
        "batch": lambda row: row["batch"],
        "lengths": lambda row: row["lengths"],
        "stock, tokens/s": _median("stock", "tokens_per_second"),
        "rope, tokens/s": _median("rope", "tokens_per_second"),
        "stock, sentences/s": _median("stock", "sentences_per_second", digits=1),
        "rope, sentences/s": _median("rope", "sentences_per_second", digits=1),
        "speed": _speed,
        **_MEMORY,
    },
    "length": {
        **_SETTING,
        "sentences x tokens": lambda row: f"{row['sentences']:,} x {row['length']:,}",
        "stock, ms a step": _median("stock", "seconds_per_step", scale=1000),
        "rope, ms a step": _median("rope", "seconds_per_step", scale=1000),
        "speed": _speed,
        **_MEMORY,
    },
    "rotation": {
        **_SETTING,
        "tokens a batch": lambda row: f"{row['max_tokens']:,}",
        "rope, ms a step": _median("rope", "seconds_per_step", scale=1000),
        "rotation's share": _share,
    },
    profile.KIND: {
        **_SETTING,
        "tokens a batch": lambda row: f"{row['max_tokens']:,}",
        "stock, ms a step": _median("stock", "seconds_per_step", scale=1000),
        "rope, ms a step": _median("rope", "seconds_per_step", scale=1000),
        **{f"{part}, stock / rope": _part(part) for part in profile.PARTS},
    },
    "tricks": {
        **_SETTING,
        "work": lambda row: row["work"],
        "block": lambda row: f"{row['block']:,}" if "block" in row else "-",
        "batch": lambda row: row["batch"] if "batch" in row else f"{row['max_tokens']:,} tokens",
        "trick": lambda row: row["trick"],
        "with all, tokens/s": _median("rope", "tokens_per_second"),
        "without it, tokens/s": _median("without", "tokens_per_second"),
        "it is worth": _speed,
        "peak MiB, without / with": _memory,
    },
}
