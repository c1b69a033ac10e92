"""What a training step spends its time on, by torch's profiler, which takes some time itself."""

import re
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from benchmarks.model import build, train
from benchmarks.model.spec import Repetition, Spec

KIND = "profile"
# part of a step -> what the names of torch's operations have in it; the first that fits
_NAMES = {
    "products": r"(?<!b)mm$|linear|mkldnn",
    "attention": r"attention|bmm$",  # of batches of matrices: its products, where no kernel is fused
    "layer norm": r"layer_norm",
    "softmax, loss": r"softmax|exp_?$|log$|gather|scatter|amax",
    "random numbers": r"dropout|bernoulli|random_",  # of dropout, which a GPU does in one operation
    "copies": r"copy|clone|cat$|stack|fill|zero|index|embedding",
}
OTHER = "other"  # additions and the like
HOST = "host"  # Python and autograd; of a GPU's time that in which it waits for them
PARTS = (*_NAMES, OTHER, HOST)
_OPERATION = re.compile(r"\w+::(\w+)")  # not the graph's nodes, nor what Python calls


def measurement(spec: Spec) -> Callable[[], Repetition]:
    """Build a Trainer; a repetition is `spec.updates` steps on the next batches under the profiler."""
    from torch.profiler import ProfilerActivity, profile

    trainer = build.trainer(spec, build.training_options(spec, max_tokens=spec.max_tokens))
    groups = train.batches(trainer)
    activities = [ProfilerActivity.CPU] + [ProfilerActivity.CUDA] * (spec.device == "cuda")

    def repeat() -> Repetition:
        steps = [next(groups) for _ in range(spec.updates)]
        with profile(activities=activities) as profiler:
            repetition = train.repetition(trainer, steps, spec.device)
        parts = seconds_of_parts(profiler.key_averages(), repetition.seconds, device=spec.device)
        return replace(repetition, parts=parts)

    return repeat


def seconds_of_parts(events: Iterable[Any], seconds: float, *, device: str) -> dict[str, float]:
    """Return the seconds of each of PARTS, of the processor or of the GPU; together they are `seconds`."""
    time = "self_cpu_time_total" if device == "cpu" else "self_device_time_total"
    found: Counter[str] = Counter()
    for event in events:
        name = _OPERATION.fullmatch(event.key)
        # a kernel of a GPU stands there once more by itself
        if name and event.device_type.name == "CPU":
            found[part_of(name[1])] += getattr(event, time) / 1e6
    return {part: found[part] for part in PARTS[:-1]} | {HOST: max(0.0, seconds - found.total())}


def part_of(operation: str) -> str:
    """Return the part of a step that an operation of torch belongs to, by its name without a namespace."""
    return next((part for part, words in _NAMES.items() if re.search(words, operation)), OTHER)
