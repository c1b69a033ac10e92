"""What an experiment shows, in a sentence for each model that is compared."""

from collections.abc import Mapping
from typing import Any

from fairseq_rope.experiments.statistic import signed, ways_text
from fairseq_rope.scoring.classification import METRICS

_NAMES = ("BLEU", "BLEU4", "chrF2", "bits")  # which score is the one that counts: the first of these


def question(results: Mapping[str, Any]) -> str:
    """Return what is asked, of `experiments.data.results_data`."""
    baseline, *others = results["models"]
    if not others:
        return f"What does {baseline} reach?"
    return f"How {'does' if len(others) == 1 else 'do'} {_listed(others)} compare with {baseline}?"


def headline_score(results: Mapping[str, Any]) -> str | None:
    """Return the statistic that verdicts are about: BLEU, bits or a task's own score, of the first set; else None."""
    names = dict.fromkeys(name for model in results["models"].values() for name in model["statistics"])
    scores = [name for name in names if ": " in name]
    translated = (name for kind in _NAMES for name in scores if name.endswith(f": {kind}"))
    # of classification that of the task, which comes first
    return next(translated, next((name for name in scores if name.partition(": ")[2] in METRICS), None))


def verdicts(results: Mapping[str, Any]) -> list[str]:
    """Return one sentence for each model but the baseline, or one on the baseline where it is alone."""
    statistic = headline_score(results)
    baseline = results["baseline"]
    others = [name for name in results["models"] if name != baseline]
    if statistic is None:
        return ["Nothing is scored yet."]
    test_set, _, score = statistic.partition(": ")
    if not others:
        found = results["models"][baseline]["statistics"].get(statistic)
        if found is not None and found["ways"] > 1:
            return [_unlike(baseline, found, f"{score} on {test_set}")]
        return [f"{baseline} reaches {_amount(found)} {score} on {test_set}{_runs(found)}."]
    return [_compared(results, statistic, baseline, other) for other in others]


def _compared(results: Mapping[str, Any], statistic: str, baseline: str, other: str) -> str:
    test_set, _, score = statistic.partition(": ")
    over_seeds = next(
        (x for x in results["seed_differences"] if (x["statistic"], x["model"]) == (statistic, other)), None
    )
    ours, theirs = (results["models"][name]["statistics"].get(statistic) for name in (other, baseline))
    if over_seeds is not None and ours is not None:
        return _sentence(over_seeds, f"{score} on {test_set}", other, baseline, of=ours)
    if ours is None or theirs is None:
        missing = other if ours is None else baseline
        return f"{missing} has no {score} on {test_set} yet."
    for name, found in ((baseline, theirs), (other, ours)):
        if found["ways"] > 1:
            return _unlike(name, found, f"{score} on {test_set}")
    if len({found.get("way", "") for found in (ours, theirs)}) > 1:
        return f"{other} and {baseline} cannot be compared in {score} on {test_set}: they are {ways_text(2)}."
    sampled = next(
        (x for x in results["bootstraps"] if (x["test_set"], x["model"], x["metric"]) == (test_set, other, score)), None
    )
    interval = ""
    if sampled is not None:
        low, high = (signed(sampled[end], f".{_decimals(ours)}f") for end in ("low", "high"))
        interval = f" (95% bootstrap interval {low} to {high})"
    return (
        f"{other} has {_amount(ours)} {score} on {test_set}, {baseline} {_amount(theirs)}{interval}; "
        "with fewer than two independent seeds in common nothing can be concluded about training."
    )


def _unlike(name: str, found: Mapping[str, Any], what: str) -> str:
    return f"The trainings of {name} have no mean {what}: they are {ways_text(found['ways'])}."


def _sentence(difference: Mapping[str, Any], what: str, other: str, baseline: str, *, of: Mapping[str, Any]) -> str:
    """Return what a difference shows; where lower is better it says which model that is."""
    spec = f".{_decimals(of)}f"
    mean, low, high = (difference[name] for name in ("mean", "low", "high"))
    seeds, independent = len(difference["seeds"]), difference["independent"]
    over = f"{seeds} seeds" if seeds == independent else f"{seeds} seeds of {independent} pre-trainings"
    interval = f"95% t interval {signed(low, spec)} to {signed(high, spec)} over {over}, paired"
    if low <= 0 <= high:
        return f"No difference between {other} and {baseline} is shown in {what}: {signed(mean, spec)} ({interval})."
    better = f": {baseline if mean > 0 else other} is better" if of.get("lower_is_better") else ""
    where = "above" if mean > 0 else "below"
    return f"{other} is {abs(mean):{spec}} {what} {where} {baseline}{better} ({interval})."


def _decimals(statistic: Mapping[str, Any]) -> int:
    return int(statistic.get("decimals", 2))


def _amount(statistic: Mapping[str, Any] | None) -> str:
    if statistic is None or statistic["mean"] is None:
        return "no"
    return f"{statistic['mean']:.{_decimals(statistic)}f}"


def _runs(statistic: Mapping[str, Any] | None) -> str:
    if statistic is None or statistic["sd"] is None:
        return ", in one training"
    deviation = f"{statistic['sd']:.{_decimals(statistic)}f}"
    return f", mean of {len(statistic['values'])} trainings with a standard deviation of {deviation}"


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
