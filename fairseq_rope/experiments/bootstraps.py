"""Whether the models of an experiment differ by more than the noise of the test set: paired bootstraps over seeds."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from fairseq_rope.experiments.markdown import table
from fairseq_rope.experiments.work_folder import Model, reports
from fairseq_rope.scoring.bootstrap import Bootstrap, Comparison, Difference, Result
from fairseq_rope.scoring.checks import ALLOWED
from fairseq_rope.scoring.comparison import compare_seeds
from fairseq_rope.scoring.evaluation import ScoreSettings
from fairseq_rope.scoring.prediction_report import bootstrap_predictions
from fairseq_rope.scoring.predictions import read_predictions


@dataclass(frozen=True)
class ModelBootstrap:
    """The paired bootstraps of a model and the baseline on a test set, one for each metric, over these seeds."""

    test_set: str
    baseline: str
    model: str
    seeds: list[int]
    metrics: list[Bootstrap]


def bootstraps(models: Sequence[Model]) -> Iterator[ModelBootstrap]:
    """Compare each model with the first one, the baseline, on each test set, in the seeds of which both have text.

    Seeds whose text was scored in another way, such as lower-cased, are compared by themselves.

    Raises:
        UserError: see `compare_seeds`.
    """
    baseline = models[0]
    for model in models[1:]:
        found: dict[tuple[str, ScoreSettings], list[int]] = {}
        for seed in sorted(model.runs.keys() & baseline.runs.keys()):
            for file in sorted(baseline.runs[seed].glob("hyp-*.*"), reverse=True):
                name = file.name.removeprefix("hyp-")
                if (model.runs[seed] / file.name).is_file() and (baseline.work / "raw" / name).is_file():
                    found.setdefault((name, settings_of(file)), []).append(seed)
        for (name, settings), seeds in found.items():
            files = {each.name: [each.runs[seed] / f"hyp-{name}" for seed in seeds] for each in (baseline, model)}
            compared = compare_seeds(files, baseline.work / "raw" / name, settings)
            yield ModelBootstrap(Path(name).stem, baseline.name, model.name, seeds, compared)
        yield from _of_predictions(baseline, model)


def _of_predictions(baseline: Model, model: Model) -> Iterator[ModelBootstrap]:
    """Compare the predictions of two models on each set, in the seeds of which both have some and the same scores."""
    found: dict[tuple[str, tuple[str, ...], tuple[str, ...]], list[int]] = {}
    for seed in sorted(model.runs.keys() & baseline.runs.keys()):
        own, its = (_scored_predictions(each.runs[seed]) for each in (model, baseline))
        for name in own.keys() & its.keys():
            if own[name] == its[name]:
                found.setdefault((name, *own[name]), []).append(seed)
    for (name, metrics, classes), seeds in sorted(found.items(), reverse=True):
        files = {
            each.name: [each.runs[seed] / f"predictions-{name}.tsv" for seed in seeds] for each in (baseline, model)
        }
        systems = {key: [read_predictions(path, classes) for path in paths] for key, paths in files.items()}
        yield ModelBootstrap(name, baseline.name, model.name, seeds, bootstrap_predictions(systems, metrics))


def _scored_predictions(folder: Path) -> dict[str, tuple[tuple[str, ...], tuple[str, ...]]]:
    """Return set -> scores and classes, of the predictions of a run that were scored."""
    return {
        name: (tuple(each["name"] for each in report["scores"]), tuple(report["settings"]["classes"]))
        for name, report in reports(folder).items()
        if report["scores"] and "classes" in report.get("settings", {})
        if (folder / f"predictions-{name}.tsv").is_file()
    }


def bootstrap_text(found: ModelBootstrap) -> str:
    """Lay out the bootstraps of a model: of several seeds the pooled difference, of one the scores of both models."""
    if len(found.seeds) == 1:
        title = f"seed {found.seeds[0]}, the baseline first: score (mean ± 95% interval)"
        body = comparison_table([each.by_seed[0] for each in found.metrics])
    else:
        seeds = ", ".join(map(str, found.seeds))
        title = (
            f"pooled over the seeds {seeds}: mean difference from {found.baseline} [95% interval], "
            "of the noise of the test set"
        )
        body = pooled_table(found.metrics)
    return f"Paired bootstrap on {found.test_set}, {title}\n\n{body}"


def comparison_table(comparisons: Sequence[Comparison]) -> str:
    """Lay out comparisons: a row for each system, a column for each metric, then the signatures."""
    columns = {each.metric: {result.system: _result_cell(result) for result in each.results} for each in comparisons}
    return "\n".join([table(columns), *(f"{each.metric}: {each.signature}" for each in comparisons)])


def pooled_table(metrics: Sequence[Bootstrap]) -> str:
    """Lay out pooled differences: a row for each system but the baseline, a column for each metric; signatures."""
    columns = {each.metric: {one.system: _difference_cell(one) for one in each.differences} for each in metrics}
    return "\n".join([table(columns), *(f"{each.metric}: {each.signature}" for each in metrics)])


def settings_of(hyps: Path) -> ScoreSettings:
    """Return the settings that hyp-SET.LANG was scored with; all is allowed, as `score` has reported it before."""
    report = reports(hyps.parent).get(hyps.stem.removeprefix("hyp-"), {})
    lowercase = bool(report.get("settings", {}).get("lowercase", False))
    return ScoreSettings(hyps.suffix.removeprefix("."), detokenized=True, lowercase=lowercase, allow=ALLOWED)


def _result_cell(result: Result) -> str:
    """Return a result as text: score (mean ± interval), p = p-value."""
    text = f"{result.score:.2f} ({result.mean:.2f} ± {result.interval:.2f})"
    return text if result.p_value is None else f"{text}, p = {result.p_value:.4f}"


def _difference_cell(found: Difference) -> str:
    return f"{found.mean:+.2f} [{found.low:+.2f}, {found.high:+.2f}], p = {found.p_value:.4f}"
