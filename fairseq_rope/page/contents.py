"""Everything that the page of an experiment shows, from its work folders."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fairseq_rope.experiments.block_curves import block_curves, block_sets
from fairseq_rope.experiments.conversion import conversion_columns, is_conversion
from fairseq_rope.experiments.data import results_data
from fairseq_rope.experiments.length_curves import Point, length_curves, window_sets
from fairseq_rope.experiments.origins import run_starts
from fairseq_rope.experiments.remarks import run_folders
from fairseq_rope.experiments.same_data import compared_models, data_files
from fairseq_rope.experiments.work_folder import Model, validated_models
from fairseq_rope.page import tables, verdict
from fairseq_rope.page.comparisons import comparisons
from fairseq_rope.page.figures import blocks_figure, length_figure, windows_figure
from fairseq_rope.page.learning import bleu_figure, curves_figure
from fairseq_rope.page.missing import missing_scores, missing_texts
from fairseq_rope.page.settings import differing_settings, run_settings
from fairseq_rope_data.errors import UserError
from fairseq_rope_data.manifest import Facts

LengthCurves = Mapping[str, Sequence[Point]]


def page_contents(works: Sequence[Path], names: Sequence[str] = (), *, so_far: bool = False) -> dict[str, Any]:
    """Return the variables of page.html.j2.

    Args:
        works: work folders of recipes, of one experiment: with the same data, no model and seed twice.
        names: see `find_models`.
        so_far: likewise.

    Raises:
        UserError: the folders differ in their data; and see `find_models` and what reads logs and reports.
    """
    found = compared_models(works, names, so_far=so_far)
    data = data_files(works[0])
    models, _ = validated_models(found)
    results = results_data(found)
    starts = {path.name: run_starts(path) for model in models for path in model.runs.values()}
    settings = {model.name: {seed: run_settings(path) for seed, path in model.runs.items()} for model in models}
    differing = differing_settings(settings)
    windows, undrawn = _window_curves(models)
    contents = {
        "title": ", ".join(work.resolve().name for work in works),
        "question": verdict.question(results),
        "verdicts": verdict.verdicts(results),
        "baseline": results["baseline"],
        "missing": [*results["notes"], *missing_scores(models, results), *missing_texts(models, results), *undrawn],
        "scores": tables.scores_table(results),
        "runs": tables.runs_table(results),
        "signatures": results["signatures"],
        "samples": comparisons(models),
        "differing": tables.text_table(
            ["setting", *(model.name for model in models)],
            ([name, *(row.get(model.name, "unknown") for model in models)] for name, row in differing.items()),
        ),
        "no_difference": _no_difference(settings),
        "data": _data_table(data),
        **_origin(starts),
        "conversion": _conversion(works),
        **_figures(models, results, windows),
        "bootstraps": tables.bootstraps_table(results),
        "reach": tables.reach_table(results),
        "numbers": {"results": results, "settings": settings, "starts": starts, "data": data},
    }
    return {**contents, "sections": _sections(contents)}


def _no_difference(settings: Mapping[str, Mapping[int, Mapping[str, str]]]) -> str:
    known = [name for name, runs in settings.items() if any(runs.values())]
    if len(known) < 2:
        return "Fewer than two models have a record of their settings."
    return f"None in the records of {', '.join(known)}."


def _data_table(files: Mapping[str, Facts]) -> tables.PageTable:
    rows = (
        [name, f"{facts.get('lines', 0):,}", f"{facts['bytes']:,}", str(facts["sha256"])]
        for name, facts in files.items()
    )
    return tables.text_table(["file", "lines", "bytes", "SHA-256"], rows)


def _origin(starts: Mapping[str, Sequence[Mapping[str, Any]]]) -> dict[str, Any]:
    """Return commands, commits, versions and each start of the runs."""
    columns = ["run, start", "date (UTC)", "commit", "processor", "threads", "GPUs", "precision"]
    every = [(run, number, each) for run, found in starts.items() for number, each in enumerate(found, 1)]
    rows = [
        [
            f"{run}, {number}",
            *(str(each.get(name) or "unknown") for name in ("date", "commit", "processor")),
            str(each.get("threads") or "torch's own"),
            ", ".join(each.get("gpus") or ()) or "none",
            str(each.get("precision") or "unknown"),
        ]
        for run, number, each in every
    ]
    versions = (f"{name} {version}" for _, _, each in every for name, version in (each.get("versions") or {}).items())
    return {
        "starts": tables.text_table(columns, rows),
        "commands": [*dict.fromkeys(str(each["command"]) for _, _, each in every if each.get("command"))],
        "commits": [*dict.fromkeys(str(each["commit"]) for _, _, each in every if each.get("commit"))],
        "versions": [*dict.fromkeys(versions)],
    }


def _conversion(works: Sequence[Path]) -> tables.PageTable | None:
    """Return losses and scores by updates after a switch, where that is what was done."""
    if len(works) > 1 or not is_conversion(works[0]):
        return None
    return tables.columns_table(conversion_columns(works[0]), "updates after the switch")


def _figures(
    models: Sequence[Model], results: Mapping[str, Any], windows: Mapping[str, LengthCurves]
) -> dict[str, Any]:
    """Return the figures; None and a remark in the place of those that cannot be drawn, as without matplotlib."""
    test_sets = dict.fromkeys(name for model in results["models"].values() for name in model["buckets"])
    try:
        curves, bleu = curves_figure(results["models"]), bleu_figure(results["models"])
        lengths = [length_figure(results["models"], test_set) for test_set in test_sets]
        lengths += [windows_figure(each, test_set) for test_set, each in windows.items() if any(each.values())]
        blocks = {test_set: block_curves(models, test_set) for test_set in block_sets(models)}
        lengths += [blocks_figure(each, test_set) for test_set, each in blocks.items() if any(each.values())]
    except UserError as error:
        return {"curves": None, "bleu_curves": None, "lengths": [], "no_figures": str(error)}
    shown = {"curves": curves, "bleu_curves": bleu}
    no_figures = "No model was trained: there are no learning curves." if curves is None else ""
    return {**shown, "lengths": [each for each in lengths if each is not None], "no_figures": no_figures}


def _window_curves(models: Sequence[Model]) -> tuple[dict[str, LengthCurves], list[str]]:
    """Return the scores of each test set in windows of several sentences, and a line for each that cannot be drawn."""
    work = models[0].work
    languages = (run_settings(run).get("SOURCE_LANG", "").strip('"') for run in run_folders(models))
    lang = next(filter(None, languages), "")
    found: dict[str, LengthCurves] = {}
    missing = []
    for test_set in window_sets(models):
        try:
            if not lang:
                raise UserError("no run has a record of SOURCE_LANG")
            found[test_set] = length_curves(work, models, test_set, lang)
        except UserError as error:
            missing.append(f"{test_set}: no BLEU by the length of windows: {error}".replace(f"{work}/", ""))
    return found, missing


def _sections(contents: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return id and name of each section that the page has."""
    names = {
        **{"missing": "To be known", "scores": "Scores", "bootstraps": "Test-set noise", "learning": "Learning"},
        **{"lengths": "Length", "samples": "Sentences", "settings": "Settings", "runs": "Runs", "origin": "Repeat"},
    }
    always = ("scores", "learning", "settings", "runs", "origin")
    ids = {"bootstraps": "test-noise", "lengths": "length"}
    there = {key for key, value in contents.items() if (value.rows if isinstance(value, tables.PageTable) else value)}
    return [(ids.get(key, key), name) for key, name in names.items() if key in always or key in there]
