"""The tables of the page, as text: heads and rows."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fairseq_rope.experiments.statistic import signed, ways_text

_FIRST = {"epochs, updates": "epochs"}  # the data have the first of two numbers


@dataclass(frozen=True)
class Cell:
    """One cell.

    Args:
        text: what it says.
        below: what stands below, smaller.
        direction: "up" or "down" where a difference is shown, else "".
    """

    text: str
    below: str = ""
    direction: str = ""


@dataclass(frozen=True)
class PageTable:
    """A table: the first cell of each row names it."""

    head: list[str]
    rows: list[list[Cell]] = field(default_factory=list)


def text_table(head: list[str], rows: Iterable[Sequence[str]]) -> PageTable:
    """Return a table of nothing but text."""
    return PageTable(head, [[Cell(text) for text in row] for row in rows])


def scores_table(results: Mapping[str, Any]) -> PageTable:
    """Return mean and deviation of each statistic, and below them the difference from the baseline with its interval.

    Args:
        results: `experiments.data.results_data`.
    """
    models = results["models"]
    differences = {(each["statistic"], each["model"]): each for each in results["seed_differences"]}
    names = dict.fromkeys(name for model in models.values() for name in model["statistics"])
    rows = []
    for name in names:
        cells = [
            _cell(model["statistics"].get(name), differences.get((name, key)), runs=len(model["seeds"]))
            for key, model in models.items()
        ]
        rows.append([Cell(_FIRST.get(name, name)), *cells])
    return PageTable(["", *(f"{name} ({_seeds(model)})" for name, model in models.items())], rows)


def runs_table(results: Mapping[str, Any]) -> PageTable:
    """Return each run's own numbers, a row a run."""
    columns = dict.fromkeys(name for model in results["models"].values() for name in model["statistics"])
    rows = []
    for name, model in results["models"].items():
        for seed in model["seeds"]:
            found = (model["statistics"].get(column) for column in columns)
            cells = [_number(each, None if each is None else each["values"].get(str(seed))) for each in found]
            rows.append([Cell(f"{name}, seed {seed}"), *map(Cell, cells)])
    return PageTable(["", *(_FIRST.get(column, column) for column in columns)], rows)


def columns_table(columns: Mapping[str, Mapping[str, str]], head: str) -> PageTable:
    """Return column -> row -> text as a table; what a column lacks stays empty."""
    names = dict.fromkeys(row for cells in columns.values() for row in cells)
    return text_table(
        [head, *columns], ([name, *(cells.get(name, "") for cells in columns.values())] for name in names)
    )


def bootstraps_table(results: Mapping[str, Any]) -> PageTable:
    """Return the differences from the baseline on each test set, with bootstrap intervals."""
    rows = []
    for each in results["bootstraps"]:
        mean, low, high = (each[name] for name in ("mean", "low", "high"))
        direction = "" if low <= 0 <= high else "up" if mean > 0 else "down"
        seeds = ", ".join(map(str, each["seeds"]))
        row = [f"{each['model']} less {each['baseline']}, {each['test_set']}", each["metric"], seeds]
        difference, *ends = (signed(number, f".{each['decimals']}f") for number in (mean, low, high))
        interval = Cell(difference, "[{}, {}]".format(*ends), direction)
        rows.append([*map(Cell, row), interval, Cell(f"{each['p_value']:.4f}")])
    return PageTable(["", "score", "seeds", "difference", "p"], rows)


def reach_table(results: Mapping[str, Any]) -> PageTable:
    """Return after how many updates and minutes each model has the best validation loss of the other one."""
    rows = []
    for each in results["reach"]:
        reached, of = len(each["reached"]), len(each["losses"])
        row = [f"{each['model']} to the loss of {each['other']}"]
        for name, unit, form in (("updates", 1, ",.0f"), ("seconds", 60, ",.1f")):
            needed, other, ratio = (each[name][key] for key in ("mean", "other_mean", "ratio"))
            if needed is None or other is None:
                row += ["never" if not reached else "unknown", ""]
            else:
                values, others = (each[name][key] for key in ("values", "other"))
                counted = sum(bool(value and others[seed]) for seed, value in values.items())
                # a log may have no time
                of_fewer = "" if counted == reached else f", of {counted} of {reached} seeds"
                row += [f"{needed / unit:{form}} ({other / unit:{form}}){of_fewer}", f"{ratio:.2f}"]
        rows.append([*row, f"{reached} of {of}"])
    return text_table(["", "updates (the other's)", "ratio", "minutes (the other's)", "ratio", "seeds"], rows)


def _cell(statistic: Mapping[str, Any] | None, difference: Mapping[str, Any] | None, *, runs: int) -> Cell:
    if statistic is None:
        return Cell("")
    text = ways_text(statistic["ways"]) if statistic["ways"] > 1 else _number(statistic, statistic["mean"])
    if statistic["sd"]:
        text += f" ± {_number(statistic, statistic['sd'])}"
    if text and len(statistic["counted"]) < runs:
        text += f" ({len(statistic['counted'])} of {runs})"
    if difference is None:
        return Cell(text)
    mean, low, high = (difference[name] for name in ("mean", "low", "high"))
    equal = 1.0 if difference["kind"] == "ratio" else 0.0
    direction = "" if low <= equal <= high else "up" if mean > equal else "down"
    if difference["kind"] == "ratio":
        return Cell(text, f"× {mean:.2f} [{low:.2f}, {high:.2f}]", direction)
    numbers = (signed(value, f".{statistic['decimals']}f") for value in (mean, low, high))
    return Cell(text, "{} [{}, {}]".format(*numbers), direction)


def _number(statistic: Mapping[str, Any] | None, value: float | None) -> str:
    return "" if statistic is None or value is None else f"{value:,.{statistic['decimals']}f}"


def _seeds(model: Mapping[str, Any]) -> str:
    return "1 seed" if len(model["seeds"]) == 1 else f"{len(model['seeds'])} seeds"
