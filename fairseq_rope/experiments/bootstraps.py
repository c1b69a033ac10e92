"""Whether the models of an experiment differ by more than the noise of the test set: paired bootstraps over seeds.

What is drawn anew are the sentences of a translation, the blocks of a text with masked tokens, or classified examples.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from fairseq_rope.experiments.block_bootstraps import block_bootstraps
from fairseq_rope.experiments.markdown import table
from fairseq_rope.experiments.pairs import shared_seeds
from fairseq_rope.experiments.prediction_bootstraps import prediction_bootstraps
from fairseq_rope.experiments.statistic import signed
from fairseq_rope.experiments.work_folder import Model, reports
from fairseq_rope.scoring.bootstrap import Bootstrap, Comparison, Difference, Result
from fairseq_rope.scoring.checks import ALLOWED
from fairseq_rope.scoring.comparison import compare_seeds
from fairseq_rope.scoring.evaluation import ScoreSettings


@dataclass(frozen=True)
class ModelBootstrap:
    """The paired bootstraps of a model and the baseline on a test set, one for each metric, over these seeds."""

    test_set: str
    baseline: str
    model: str
    seeds: list[int]
    metrics: list[Bootstrap]


def bootstraps(models: Sequence[Model]) -> Iterator[ModelBootstrap]:
    """Compare each model with the first one, the baseline, on each test set, in the seeds of which both have scores.

    Seeds whose text was scored in another way, such as lower-cased, are compared by themselves.

    Raises:
        UserError: see `compare_seeds`.
    """
    baseline = models[0]
    for model in models[1:]:
        for bootstraps_of in (_of_translations, block_bootstraps, prediction_bootstraps):
            for test_set, seeds, metrics in bootstraps_of(baseline, model):
                yield ModelBootstrap(test_set, baseline.name, model.name, seeds, metrics)


def _of_translations(baseline: Model, model: Model) -> Iterator[tuple[str, list[int], list[Bootstrap]]]:
    """Yield test set, seeds and the bootstrap of each metric."""
    found: dict[tuple[str, ScoreSettings], list[int]] = {}
    for seed in shared_seeds(model, baseline):
        for file in sorted(baseline.runs[seed].glob("hyp-*.*"), reverse=True):
            name = file.name.removeprefix("hyp-")
            if (model.runs[seed] / file.name).is_file() and (baseline.work / "raw" / name).is_file():
                found.setdefault((name, settings_of(file)), []).append(seed)
    for (name, settings), seeds in found.items():
        files = {each.name: [each.runs[seed] / f"hyp-{name}" for seed in seeds] for each in (baseline, model)}
        yield Path(name).stem, seeds, compare_seeds(files, baseline.work / "raw" / name, settings)


def bootstrap_text(found: ModelBootstrap) -> str:
    """Lay out the bootstraps of a model: of several seeds the pooled difference, of one the scores of both models."""
    if len(found.seeds) == 1:
        title = f"seed {found.seeds[0]}, the baseline first: score (mean ± 95% interval)"
        body = comparison_table([each.by_seed[0] for each in found.metrics], [each.decimals for each in found.metrics])
    else:
        seeds = ", ".join(map(str, found.seeds))
        title = (
            f"pooled over the seeds {seeds}: mean difference from {found.baseline} [95% interval], "
            "of the noise of the test set"
        )
        body = pooled_table(found.metrics)
    return f"Paired bootstrap on {found.test_set}, {title}\n\n{body}"


def comparison_table(comparisons: Sequence[Comparison], decimals: Sequence[int] = ()) -> str:
    """Lay out comparisons: a row for each system, a column for each metric, then the signatures."""
    columns = {
        each.metric: {result.system: _result_cell(result, digits) for result in each.results}
        for each, digits in zip(comparisons, decimals or [2] * len(comparisons), strict=True)
    }
    return "\n".join([table(columns), *(f"{each.metric}: {each.signature}" for each in comparisons)])


def pooled_table(metrics: Sequence[Bootstrap]) -> str:
    """Lay out pooled differences: a row for each system but the baseline, a column for each metric; signatures."""
    columns = {
        each.metric: {one.system: _difference_cell(one, each.decimals) for one in each.differences} for each in metrics
    }
    return "\n".join([table(columns), *(f"{each.metric}: {each.signature}" for each in metrics)])


def settings_of(hyps: Path) -> ScoreSettings:
    """Return the settings that hyp-SET.LANG was scored with; all is allowed, as `score` has reported it before."""
    report = reports(hyps.parent).get(hyps.stem.removeprefix("hyp-"), {})
    lowercase = bool(report.get("settings", {}).get("lowercase", False))
    return ScoreSettings(hyps.suffix.removeprefix("."), detokenized=True, lowercase=lowercase, allow=ALLOWED)


def _result_cell(result: Result, decimals: int) -> str:
    """Return a result as text: score (mean ± interval), p = p-value."""
    score, mean, half = (f"{number:.{decimals}f}" for number in (result.score, result.mean, result.interval))
    text = f"{score} ({mean} ± {half})"
    return text if result.p_value is None else f"{text}, p = {result.p_value:.4f}"


def _difference_cell(found: Difference, decimals: int) -> str:
    mean, low, high = (signed(number, f".{decimals}f") for number in (found.mean, found.low, found.high))
    return f"{mean} [{low}, {high}], p = {found.p_value:.4f}"
