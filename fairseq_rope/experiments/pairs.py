"""Which seeds of two models make pairs, and what is to be said where they make none, or one."""

from collections.abc import Sequence

from fairseq_rope.experiments.work_folder import Model

ONE_SEED = "One seed: nothing can be concluded about the noise of training."


def shared_seeds(model: Model, baseline: Model) -> list[int]:
    """Return the seeds of which both models have a run, in their order."""
    return sorted(model.runs.keys() & baseline.runs.keys())


def has_one_seed(models: Sequence[Model]) -> bool:
    """Return whether no model has several seeds."""
    return all(len(model.runs) == 1 for model in models)


def pair_notes(models: Sequence[Model]) -> list[str]:
    """Return a line for each model whose seeds are not those of the first one."""
    baseline = models[0]
    return [
        f"note: {baseline.name} has {_named([*baseline.runs])}, {model.name} has {_named([*model.runs])}: "
        f"{_compared(shared_seeds(model, baseline))}"
        for model in models[1:]
        if model.runs.keys() != baseline.runs.keys()
    ]


def _compared(shared: Sequence[int]) -> str:
    if not shared:
        return "no seed is of both, so they are not compared by seed"
    alone = ", which says nothing about the noise of training" if len(shared) == 1 else ""
    return f"compared by {_named(shared)}{alone}"


def _named(seeds: Sequence[int]) -> str:
    return f"seed{'s' * (len(seeds) > 1)} {', '.join(map(str, seeds))}"
