"""Which library computes float32 products on this processor: measured on first use, not assumed.

torch calls one library for them on the CPU, MKL on x86, and can call oneDNN. Which is faster depends on the processor:
on AMD's Zen 5 oneDNN is, by 2.3 times, on Intel's Sapphire Rapids MKL is. Each kind of product is measured once in a
process, in about 0.1 seconds:

- The three products of a large layer, of which evaluation has the first, one by one: on Zen 4 oneDNN makes the forward
  product and the gradient of the input 1.05 to 1.5 times as fast, but not the gradient of the weight.
- Smaller products, of training together and of a search.
- Products with weights that are packed for oneDNN, by the rows of a batch, and by those of one sentence, where the
  longer call of oneDNN may cost more than it wins, or its reading of the weight in its order may win most.

Products of bfloat16 are oneDNN's anyway: there the question is whether packing their weights is worth it.

FAIRSEQ_ROPE_PRODUCTS=torch or =onednn, in the environment, chooses without measuring.
"""

import contextlib
import functools
import logging
import os
import statistics
import threading
import time
from collections.abc import Callable, Iterator

import torch
from torch import Tensor

Product = Callable[[Tensor, Tensor], Tensor]  # (N, in), (out, in) -> (N, out)
Prepare = Callable[[Tensor], Tensor]  # (out, in) -> a product's second argument

VARIABLE = "FAIRSEQ_ROPE_PRODUCTS"
TORCH, ONEDNN, AUTO = "torch", "onednn", "auto"
TRAINING, SEARCH, PACKED = "training", "search", "search with packed weights"
PACKED_FEW_ROWS = "search of one sentence with packed weights"
PACKED_BFLOAT16, BFLOAT16 = "search with packed bfloat16 weights", "bfloat16"
FORWARD, INPUT_GRADIENT, WEIGHT_GRADIENT = LARGE = (
    "large layers",
    "gradients of large layers' inputs",
    "gradients of large layers' weights",
)
# rows, in and out of a layer; in training it has two more products in the backward pass
SHAPES = {TRAINING: (128, 512, 512), SEARCH: (160, 512, 512), PACKED: (20, 512, 2048), PACKED_FEW_ROWS: (4, 512, 2048)}
SHAPES |= {PACKED_BFLOAT16: SHAPES[PACKED], BFLOAT16: SHAPES[SEARCH]} | dict.fromkeys(LARGE, (512, 512, 512))
# these wait for their weights: as many are read in turn as no near cache holds, by all threads of the process
WEIGHTS = dict.fromkeys((PACKED, PACKED_FEW_ROWS, PACKED_BFLOAT16), 4)
# how many times as fast oneDNN must be: between processors whose choice is clear, so that noise does not change it from
# one process to the next, and with it the last bit of the results
MIN_GAIN = 1.25
# where that is the least that was found on Zen 4, and what the longer call costs is little of a product
MIN_GAINS = {FORWARD: 1.0, INPUT_GRADIENT: 1.0}
TURNS = 9

_logger = logging.getLogger(__name__)
_lock = threading.Lock()
_chosen: dict[str, str] = {}


def _as_it_is(weight: Tensor) -> Tensor:
    return weight


def is_onednn(work: str, *, torchs: Product, onednn: Product, prepare: Prepare = _as_it_is) -> bool:
    """Return whether products go through oneDNN; measures when it is first asked.

    Args:
        work: a key of SHAPES.
        torchs: a product by torch's own library.
        onednn: the same by oneDNN.
        prepare: what oneDNN's takes in the place of a weight, made once for many products.
    """
    if work not in _chosen:
        with _lock:  # a second thread waits for the answer
            if work not in _chosen:
                _chosen[work] = _choose(work, torchs, onednn, prepare)
    return _chosen[work] == ONEDNN


def gain(work: str, *, torchs: Product, onednn: Product, prepare: Prepare = _as_it_is) -> float:
    """Return the time that torch's own library takes, by that of oneDNN: the medians of several turns of each.

    It is the processor's time, of this thread: by the clock, on a busy machine, one library can be the one that waits
    in most of its turns, and seem three times as slow.
    Training and unpacked weights by one thread: on a busy machine the times of several say more about what else runs
    there. What waits for its weights gains by threads with one library more than with the other: on Zen 3, with four
    rows, oneDNN does and MKL does not.
    """
    rows, inputs, outputs = SHAPES[work]
    weights = WEIGHTS.get(work, 1)
    dtype = torch.bfloat16 if work == PACKED_BFLOAT16 else torch.float32
    threads = torch.get_num_threads() if work in WEIGHTS else 1
    # what is asked for the first time under autocast holds outside of it, too
    with torch.no_grad(), torch.autocast("cpu", enabled=False), _threads(threads):
        ones = functools.partial(torch.ones, dtype=dtype, device="cpu")
        x, grad = ones(rows, inputs), ones(rows, outputs)
        pairs = [(x, ones(outputs, inputs)) for _ in range(weights)]
        backward = {INPUT_GRADIENT: (grad, pairs[0][1].T), WEIGHT_GRADIENT: (grad.T, x.T)}
        if work == TRAINING:
            pairs += backward.values()
        elif work in backward:
            pairs = [backward[work]]
        turns = {TORCH: (torchs, pairs), ONEDNN: (onednn, [(one, prepare(other)) for one, other in pairs])}
        times = _times(turns, clock=time.thread_time)
        if not all(map(all, times.values())):  # some systems count it in ticks longer than a product
            times = _times(turns, clock=time.perf_counter)
    return statistics.median(times[TORCH]) / statistics.median(times[ONEDNN])


def _times(
    turns: dict[str, tuple[Product, list[tuple[Tensor, Tensor]]]], *, clock: Callable[[], float]
) -> dict[str, list[float]]:
    """Return what each turn of each product took, in seconds of `clock`."""
    times: dict[str, list[float]] = {name: [] for name in turns}
    for _ in range(TURNS):
        for name, (product, arguments) in turns.items():
            start = clock()
            for one, other in arguments:
                product(one, other)
            times[name].append(clock() - start)
    return times


@contextlib.contextmanager
def _threads(number: int) -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(number)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _choose(work: str, torchs: Product, onednn: Product, prepare: Prepare) -> str:
    given = os.environ.get(VARIABLE, AUTO).lower()
    if given in (TORCH, ONEDNN):
        _logger.info("products of %s: %s, as %s says", work, given, VARIABLE)
        return given
    if given != AUTO:
        _logger.warning("%s must be torch, onednn or auto, but is %r: it is measured", VARIABLE, given)
    found = gain(work, torchs=torchs, onednn=onednn, prepare=prepare)
    chosen = ONEDNN if found >= MIN_GAINS.get(work, MIN_GAIN) else TORCH
    _logger.info("products of %s: %s (oneDNN is %.2f times as fast as torch's own library)", work, chosen, found)
    return chosen
