"""Decay and measured attention as tables and as JSON."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from fairseq_rope.experiments.decay import Decay
from fairseq_rope.experiments.distance_sums import StackAttention
from fairseq_rope.experiments.markdown import table

# title of a model -> stack -> what was measured
Measured = Mapping[str, Mapping[str, StackAttention]]

_ROWS = (0, 1, 2, 5, 10, 20, 50, 100, 250, 500, 1000, 2500, 5000, 10_000, 25_000, 50_000)


def table_rows(limit: int) -> list[int]:
    """Return the distances that a table shows of 0 .. `limit`."""
    return [n for n in _ROWS if n < limit] + [limit]


def decay_text(decays: Sequence[Decay], measured: Measured, *, limit: int) -> str:
    """Return the tables of formulas and of each model, means over its heads, as Markdown."""
    parts = [_formulas(decays, limit)] if decays else []
    for title, stacks in measured.items():
        parts += [f"{title}, attention by distance", _measured(stacks, limit)]
    return "\n\n".join(parts)


def _formulas(decays: Sequence[Decay], limit: int) -> str:
    columns: dict[str, dict[str, str]] = {}
    for decay in decays:
        for name, values in (("bound", decay.bound), ("cosine", decay.cosine)):
            columns[f"{decay.title}: {name}"] = {str(n): f"{values[n]:.3f}" for n in table_rows(limit)}
        columns[f"{decay.title}: bound"]["steps up"] = f"{decay.upward_steps} of {limit}"
    return table(columns)


def _measured(stacks: Mapping[str, StackAttention], limit: int) -> str:
    places = {
        stack: {int(distance): i for i, distance in enumerate(found.distances)} for stack, found in stacks.items()
    }
    rows = table_rows(limit)
    there = {n for of_stack in places.values() for n in of_stack}
    # keys before the query, the query's own, keys after it
    shown = [n for n in sorted({-n for n in rows} | {*rows}) if n in there]
    columns: dict[str, dict[str, str]] = {}
    for stack, found in stacks.items():
        weights, relative = found.weights.mean(dim=(0, 1)), found.relative.mean(dim=(0, 1))
        end = float(found.end_weights.mean())
        for name, values, of_end, form in (
            ("weight", weights, end, ".4f"),
            ("weight / even", relative, end / found.even_end, ".2f"),
            ("pairs", found.pairs, None, ","),
        ):
            cells = {n: "" if i is None else f"{values[i]:{form}}" for n in shown for i in [places[stack].get(n)]}
            columns[f"{stack}: {name}"] = {f"{n:+d}" if n else "0": cell for n, cell in cells.items()}
            columns[f"{stack}: {name}"]["</s>"] = "" if of_end is None else f"{of_end:{form}}"
    return table(columns)


def decay_json(decays: Sequence[Decay], measured: Measured) -> str:
    """Return everything as one JSON object; what belongs to distances stands in their order, heads count from 1."""
    formulas = [
        {
            "title": decay.title,
            "bound": decay.bound.tolist(),
            "mean_cosine": decay.cosine.tolist(),
            "upward_steps": decay.upward_steps,
        }
        for decay in decays
    ]
    models = [
        {"model": title, **{stack: _fields(found) for stack, found in stacks.items()}}
        for title, stacks in measured.items()
    ]
    return json.dumps({"rotations": formulas, "models": models}, ensure_ascii=False)


def _fields(found: StackAttention) -> dict[str, Any]:
    return {
        "distances": found.distances.tolist(),
        "pairs": found.pairs.tolist(),
        "even": found.even.tolist(),
        "weights_by_layer": found.weights.mean(dim=1).tolist(),
        "even_end": found.even_end,
        "end_weights_by_layer": found.end_weights.mean(dim=1).tolist(),
        "heads": [
            {"layer": layer, "head": head, "weights": weights.tolist(), "end_weight": float(end)}
            for layer, (heads, ends) in enumerate(zip(found.weights, found.end_weights, strict=True), 1)
            for head, (weights, end) in enumerate(zip(heads, ends, strict=True), 1)
        ],
    }
