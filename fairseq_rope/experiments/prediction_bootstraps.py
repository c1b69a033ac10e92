"""Whether models differ in predictions by more than the noise of the examples: paired bootstraps of these."""

from collections.abc import Iterator
from pathlib import Path

from fairseq_rope.experiments.pairs import shared_seeds
from fairseq_rope.experiments.work_folder import Model, reports
from fairseq_rope.scoring.bootstrap import Bootstrap
from fairseq_rope.scoring.prediction_report import bootstrap_predictions
from fairseq_rope.scoring.predictions import read_predictions

Scored = tuple[tuple[str, ...], tuple[str, ...]]  # names of scores and of classes


def prediction_bootstraps(baseline: Model, model: Model) -> Iterator[tuple[str, list[int], list[Bootstrap]]]:
    """Yield test set, seeds and the bootstrap of each metric, where both models have predictions and the same scores.

    Raises:
        UserError: a report or a file of predictions is damaged, or predictions are for other examples.
    """
    found: dict[tuple[str, Scored], list[int]] = {}
    for seed in shared_seeds(model, baseline):
        own, its = (_scored_predictions(each.runs[seed]) for each in (model, baseline))
        for name in own.keys() & its.keys():
            if own[name] == its[name]:
                found.setdefault((name, own[name]), []).append(seed)
    for (name, (metrics, classes)), seeds in sorted(found.items(), reverse=True):
        systems = {
            each.name: [read_predictions(each.runs[seed] / f"predictions-{name}.tsv", classes) for seed in seeds]
            for each in (baseline, model)
        }
        yield name, seeds, bootstrap_predictions(systems, metrics)


def _scored_predictions(folder: Path) -> dict[str, Scored]:
    """Return set -> scores and classes, of the predictions of a run that were scored."""
    return {
        name: (tuple(each["name"] for each in report["scores"]), tuple(report["settings"]["classes"]))
        for name, report in reports(folder).items()
        if report["scores"] and "classes" in report.get("settings", {})
        if (folder / f"predictions-{name}.tsv").is_file()
    }
