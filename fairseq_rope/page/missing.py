"""What an experiment has not come to, or lacks the texts for: the first list of its page."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from fairseq_rope.experiments.work_folder import Model, files_of_stem


def missing_scores(models: Sequence[Model], results: Mapping[str, Any]) -> Iterator[str]:
    """Yield the scores that models lack and others have, a line for each model, test set and seeds.

    Args:
        models: those of the page.
        results: of `experiments.data.results_data`.
    """
    names = dict.fromkeys(name for other in results["models"].values() for name in other["statistics"])
    for model in models:
        found = results["models"][model.name]["statistics"]
        scores_of: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
        for name in names:
            test_set, colon, score = name.partition(": ")
            values = found.get(name, {"values": {}})["values"]
            lacking = [str(seed) for seed in model.runs if values.get(str(seed)) is None]
            if lacking and colon:
                scores_of[test_set, ", ".join(lacking)].append(score)
        for (test_set, seeds), scores in scores_of.items():
            yield f"{model.name}: no {test_set}: {', '.join(scores)} of seed {seeds}"


def missing_texts(models: Sequence[Model], results: Mapping[str, Any]) -> Iterator[str]:
    """Yield a line for each test set that models have scores of, but no texts to draw samples from and to show.

    Args:
        models: those of the page.
        results: of `experiments.data.results_data`.
    """
    drawn = {each["test_set"] for each in results["bootstraps"]}
    scored = Counter(test_set for model in results["models"].values() for test_set in model["buckets"])
    for test_set, count in scored.items():
        if count > 1 and test_set not in drawn:
            texts = f"raw/{test_set}.LANG, and hyp-{test_set}.LANG of two models with the same seed"
            yield f"{test_set}: no noise of the test set and no sentences, which need {texts}"
        if not files_of_stem(models[0].work / "text", test_set):
            yield f"{test_set}: no intervals of BLEU by the length of the source, which need text/{test_set}.LANG"
