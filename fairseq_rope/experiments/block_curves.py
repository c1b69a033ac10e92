"""How well masked language models read blocks of other lengths than they were trained on: bits over lengths."""

from collections.abc import Sequence

from fairseq_rope.experiments.length_curves import Point, mean_point
from fairseq_rope.experiments.statistic import Statistic
from fairseq_rope.experiments.work_folder import Model, reports


def block_curves(models: Sequence[Model], test_set: str) -> dict[str, list[Point]]:
    """Return the title of each model -> bits of masked tokens, by the length of blocks, from short ones to long ones.

    Args:
        models: those that have reports WORK/NAME/score-SET-LENGTH.json; others have no points.
        test_set: the name of the text, without a length.

    Raises:
        UserError: a report is damaged.
    """
    return {model.title: _points(model, test_set) for model in models}


def block_sets(models: Sequence[Model]) -> list[str]:
    """Return the names of the texts that have been read in blocks, without a length."""
    found = (each for model in models for folder in model.runs.values() for each in reports(folder).items())
    return list(dict.fromkeys(name.rpartition("-")[0] for name, report in found if "blocks" in report))


def _points(model: Model, test_set: str) -> list[Point]:
    bits: dict[tuple[int, float], list[Statistic]] = {}
    for folder in model.runs.values():
        for name, report in reports(folder).items():
            if "blocks" in report and name == f"{test_set}-{report['length']}":
                key = report["length"], report["length"] / report["trained_length"]
                bits.setdefault(key, []).extend(
                    Statistic((score["value"],), signature=score["signature"])
                    for score in report["scores"]
                    if score["name"] == "bits"
                )
    seeds = len(model.runs)
    return [mean_point(*key, found, seeds=seeds) for key, found in sorted(bits.items()) if found]
