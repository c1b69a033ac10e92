"""Whether the models of an experiment differ by more than chance: paired bootstraps on each test set."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from fairseq_rope.experiments.markdown import table
from fairseq_rope.experiments.work_folder import Model, reports
from fairseq_rope.scoring.bootstrap import Comparison, Result
from fairseq_rope.scoring.checks import ALLOWED
from fairseq_rope.scoring.comparison import compare_files
from fairseq_rope.scoring.evaluation import ScoreSettings


@dataclass(frozen=True)
class Difference:
    """The paired bootstrap of two models on a test set; the baseline comes first in each comparison."""

    test_set: str
    seed: int
    comparisons: list[Comparison]


def differences(work: Path, models: Sequence[Model]) -> Iterator[Difference]:
    """Compare the first model with each other one, the baseline, by seed and test set."""
    model = models[0]
    for baseline in models[1:]:
        for seed in sorted(model.runs.keys() & baseline.runs.keys()):
            for file in sorted(model.runs[seed].glob("hyp-*.*"), reverse=True):
                other, reference = baseline.runs[seed] / file.name, work / "raw" / file.name.removeprefix("hyp-")
                if other.is_file() and reference.is_file():
                    files = {baseline.name: other, model.name: file}
                    yield Difference(reference.stem, seed, compare_files(files, reference, _settings_of(file)))


def comparison_table(comparisons: Sequence[Comparison]) -> str:
    """Lay out comparisons: a row for each system, a column for each metric, then the signatures."""
    columns = {each.metric: {result.system: _cell(result) for result in each.results} for each in comparisons}
    return "\n".join([table(columns), *(f"{each.metric}: {each.signature}" for each in comparisons)])


def _cell(result: Result) -> str:
    """Return a result as text: score (mean ± interval), p = p-value."""
    text = f"{result.score:.2f} ({result.mean:.2f} ± {result.interval:.2f})"
    return text if result.p_value is None else f"{text}, p = {result.p_value:.4f}"


def _settings_of(hyps: Path) -> ScoreSettings:
    """Return the settings that hyp-SET.LANG was scored with; all is allowed, as `score` has reported it before."""
    report = reports(hyps.parent).get(hyps.stem.removeprefix("hyp-"), {})
    lowercase = bool(report.get("settings", {}).get("lowercase", False))
    return ScoreSettings(hyps.suffix.removeprefix("."), detokenized=True, lowercase=lowercase, allow=ALLOWED)
