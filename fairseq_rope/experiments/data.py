"""The results of an experiment as plain data, for programs: what `results --json` prints.

Numbers are not rounded; null stands for what is not there or is no number. A run is found by the number of its seed, as
text. Means are over the seeds that have a number; sd is the sample standard deviation, null of fewer than two.

baseline            the first model, with which each other one is compared
models              NAME -> a model, in the order of the table:
    seeds           their numbers
    statistics      NAME -> {values: SEED -> number, counted: [SEED], mean, sd, ways, way, compared,
                    decimals, lower_is_better}; of a statistic of two numbers, such as the best loss and its epoch, the
                    first; mean and sd are over the seeds in counted, those with a number, without trainings that have
                    not ended and are behind another seed's; ways is in how many ways scores were made, as their
                    signatures have it but for versions: where it is above 1, mean and sd are null; way is that of the
                    first seed, empty of what is no score; compared is not, difference or ratio
    buckets         SET -> BLEU by words of the source: [{words: "11-20", sentences, values: SEED -> BLEU, mean, sd,
                    ways, low, high}]: the ends of a 95% bootstrap interval of the mean, for the noise of the test set
    curves          SEED -> the validations of a run: {folder, finished, updates, epochs, losses, seconds}: four lists
                    of the same length; seconds are those of training up to then, earlier processes included; and
                    valid_bleu, a fifth, where the training logged BLEU of the validation set
seed_differences    the noise of training, by differences paired by seed: [{statistic, baseline, model, kind, seeds,
                    values, independent, mean, low, high}]: model less baseline, or their ratio, by seed; how many of
                    them are independent, for fine-tunings of one pre-trained model are one; mean and the ends of its
                    95% t interval, of these
bootstraps          the noise of the test set, by paired bootstraps: [{test_set, baseline, model, seeds, metric,
                    signature, decimals, mean, low, high, p_value, by_seed}]: model less baseline over seeds, the ends
                    of its 95% interval over resampled test sets, the same for all, and p; by_seed: SEED -> for each of
                    both {system, score, mean, interval, p_value}, see `scoring.bootstrap.Result`
reach               what a model needs to reach the best validation loss of the other one, both ways: [{model, other,
                    losses: SEED -> the other's best loss, reached: [SEED], updates, seconds}], the last two {values:
                    SEED -> number, null where never, other: SEED -> what the other needed, mean, other_mean, ratio};
                    these three over the seeds alone in which both are numbers
signatures          NAME of a score -> [signature], one unless runs were scored in different ways
notes               [text]: runs left out since they have no validation, in what the origin of runs differs, trainings
                    that have not ended, text scored in spite of a breach, runs that predict the same of all examples or
                    read some of them cut, examples of one label alone, seeds without a pair
"""

import dataclasses
import json
import math
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from fairseq_rope.experiments.bootstraps import ModelBootstrap, bootstraps
from fairseq_rope.experiments.bucket_intervals import bucket_intervals
from fairseq_rope.experiments.origins import origin_notes
from fairseq_rope.experiments.pairs import pair_notes
from fairseq_rope.experiments.reach import reaches
from fairseq_rope.experiments.remarks import run_folders, run_notes, score_signatures
from fairseq_rope.experiments.same_data import compared_models
from fairseq_rope.experiments.seed_differences import seed_differences
from fairseq_rope.experiments.statistic import Statistic, ways
from fairseq_rope.experiments.train_log import read_train_log
from fairseq_rope.experiments.work_folder import (
    TRAINED,
    Model,
    bucket_statistic,
    is_trained,
    model_rows,
    reports,
    run_statistics,
    validated_models,
)


def results_json(work: Path | Sequence[Path], names: Sequence[str] = ()) -> str:
    """Return `results_data` as a JSON object on one line; for arguments and errors see `results.results_text`."""
    return json.dumps(results_data(compared_models(work, names)), ensure_ascii=False, allow_nan=False)


def results_data(found: Sequence[Model]) -> dict[str, Any]:
    """Return the fields above; for errors see `results.results_text`."""
    models, left_out = validated_models(found)
    folders = run_folders(models)
    fields: dict[str, Any] = {
        "baseline": models[0].name,
        "models": {model.name: _model(model) for model in models},
        "seed_differences": [dataclasses.asdict(each) for each in seed_differences(models)],
        "bootstraps": [one for each in bootstraps(models) for one in _bootstraps(each)],
        "reach": [dataclasses.asdict(each) for each in reaches(models)],
        "signatures": score_signatures(folders),
        "notes": left_out + origin_notes(models) + run_notes(folders) + pair_notes(models),
    }
    # the keys are text, as in the JSON
    return dict(json.loads(json.dumps(fields, allow_nan=False)))


def _model(model: Model) -> dict[str, Any]:
    rows = model_rows(model, run_statistics)
    return {
        "seeds": [*model.runs],
        "statistics": {name: _statistic(row) for name, row in rows.items()},
        "buckets": _buckets(model),
        "curves": {seed: _curve(folder) for seed, folder in model.runs.items() if is_trained(folder)},
    }


def _statistic(row: Mapping[int, Statistic]) -> dict[str, Any]:
    first = next(iter(row.values()))
    # the last letter of a format is `f`, the number before it that of decimals
    decimals = int(first.specs[0].rpartition(".")[2].removesuffix("f"))
    counted = [seed for seed, each in row.items() if each.is_counted(row.values())]
    chosen = {"compared": first.compared, "decimals": decimals, "lower_is_better": first.lower_is_better}
    return {**_over_seeds(row, counted), "counted": counted, "way": "|".join(first.way), **chosen}


def _buckets(model: Model) -> dict[str, list[dict[str, Any]]]:
    rows: dict[str, dict[tuple[str, int], dict[int, Statistic]]] = {}
    for seed, folder in model.runs.items():
        for test_set, report in reports(folder).items():
            for bucket in report.get("buckets", []):
                key = bucket["words"], bucket["sentences"]
                rows.setdefault(test_set, {}).setdefault(key, {})[seed] = bucket_statistic(bucket)
    return {test_set: _bucket_rows(model, test_set, buckets) for test_set, buckets in rows.items()}


def _bucket_rows(
    model: Model, test_set: str, buckets: Mapping[tuple[str, int], Mapping[int, Statistic]]
) -> list[dict[str, Any]]:
    alike = {key: row for key, row in buckets.items() if ways(row.values()) == 1}
    scores = {key: {seed: each.values[0] for seed, each in row.items()} for key, row in alike.items()}
    intervals = bucket_intervals(model, test_set, scores)
    rows = []
    for (words, sentences), row in buckets.items():
        low, high = intervals.get((words, sentences), (None, None))
        rows.append({"words": words, "sentences": sentences, **_over_seeds(row, row), "low": low, "high": high})
    return rows


def _bootstraps(found: ModelBootstrap) -> Iterator[dict[str, Any]]:
    """Yield an object for each metric."""
    for each in found.metrics:
        (difference,) = each.differences
        by_seed = zip(found.seeds, each.by_seed, strict=True)
        yield {
            "test_set": found.test_set,
            "baseline": found.baseline,
            "model": found.model,
            "seeds": found.seeds,
            "metric": each.metric,
            "signature": each.signature,
            "decimals": each.decimals,
            "mean": difference.mean,
            "low": difference.low,
            "high": difference.high,
            "p_value": difference.p_value,
            "by_seed": {seed: [dataclasses.asdict(one) for one in comparison.results] for seed, comparison in by_seed},
        }


def _curve(folder: Path) -> dict[str, Any]:
    log = read_train_log(folder / TRAINED)
    curve = {
        "folder": folder.name,
        "finished": log.is_finished,
        "updates": [each.updates for each in log.validations],
        "epochs": [each.epoch for each in log.validations],
        "losses": [number(each.loss) for each in log.validations],
        "seconds": [number(log.clock.seconds_at(each.updates)) for each in log.validations],
    }
    if log.bleu:
        curve["valid_bleu"] = [each.bleu for each in log.validations]
    return curve


def _over_seeds(row: Mapping[int, Statistic], counted: Iterable[int]) -> dict[str, Any]:
    """Return the value of each seed, and mean and standard deviation of the seeds that are counted, if scored alike."""
    count = ways(row.values())
    numbers = [row[seed].values[0] for seed in counted] if count == 1 else []
    return {
        "values": {seed: number(each.values[0]) for seed, each in row.items()},
        "mean": statistics.fmean(numbers) if numbers else None,
        "sd": statistics.stdev(numbers) if len(numbers) > 1 else None,
        "ways": count,
    }


def number(value: float) -> float | None:
    """Return a number as it is, and None for what is none, such as the time of an unfinished run."""
    return value if math.isfinite(value) else None
