"""Measure models in turn, so that whatever else the machine does meets all of them."""

import contextlib
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from benchmarks.model.spec import Repetition, Spec
from benchmarks.model.worker import OUT_OF_MEMORY, FailedError, Worker

Measured = dict[str, Any]


def compare(
    specs: list[Spec], *, repetitions: int, warm_up: int, best_rate: Callable[[], float] | None
) -> dict[str, Measured]:
    """Measure each of `specs` `repetitions` times, in turn, the first of a round changing.

    Args:
        specs: the models, in one setting.
        repetitions: how often each is measured.
        warm_up: repetitions before those that count.
        best_rate: measures the floating-point operations a second that the machine reaches at best, before each
            repetition; None: not known.

    Returns: for each, by its name, options, peak memory in bytes and lists of all figures, one a repetition; for one
        that could not be measured an `error`, its reason, and no lists.
    """
    # each with the best rate just before it
    repetitions_of: dict[str, list[tuple[Repetition, float]]] = {spec.name: [] for spec in specs}
    measured: dict[str, Measured] = {}
    with contextlib.ExitStack() as stack:
        workers = [Worker(spec) for spec in specs]
        for worker in workers:
            stack.callback(worker.close)
        for worker in workers:
            worker.wait()
        for i in range(-warm_up, repetitions):
            turn = i % len(workers) if workers else 0
            for worker in workers[turn:] + workers[:turn]:
                rate = best_rate() if best_rate else 0.0
                try:
                    repetition = _repeat(worker, workers)
                except FailedError as error:
                    measured[worker.spec.name] = {"error": str(error)}
                    workers.remove(worker)
                    worker.close()
                else:
                    repetitions_of[worker.spec.name] += [(repetition, rate)] * (i >= 0)
        for worker in workers:
            measured[worker.spec.name] = _figures(repetitions_of[worker.spec.name], worker)
    return {spec.name: {"options": list(spec.options), **measured[spec.name]} for spec in specs}


def _repeat(worker: Worker, workers: list[Worker]) -> Repetition:
    try:
        return worker.repeat()
    except FailedError as error:
        others = [other for other in workers if other is not worker]
        if str(error) != OUT_OF_MEMORY or worker.spec.device == "cpu" or not others:
            raise
    # once more with the GPU almost to itself: what waits there holds memory that it does not use
    for other in others:
        other.free()
    return worker.repeat()


def _figures(repetitions: list[tuple[Repetition, float]], worker: Worker) -> Measured:
    every = [asdict(repetition) for repetition, _ in repetitions]
    lists = {name: [each[name] for each in every] for name in every[0]}
    figures: Measured = {"peak": worker.peak(), **{name: values for name, values in lists.items() if any(values)}}
    rates = [rate for _, rate in repetitions]
    if all(rates) and "flops" in figures:
        figures["best_rate"] = rates
        figures["utilization"] = [each.flops / each.seconds / rate for each, rate in repetitions]
    return figures
