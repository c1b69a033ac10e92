"""Which library computes float32 products on this processor: measured on first use, not assumed.

torch calls one library for them on the CPU, MKL on x86, and can call oneDNN. Which is faster depends on the processor:
on AMD's Zen 5 oneDNN is, by 2.3 times, on Intel's Sapphire Rapids MKL is. Training and search have products of other
sizes and are measured apart, each once in a process, in some tens of milliseconds.

FAIRSEQ_ROPE_PRODUCTS=torch or =onednn, in the environment, chooses without measuring.
"""

import contextlib
import logging
import os
import threading
import time
from collections.abc import Callable, Iterator

import torch
from torch import Tensor

Product = Callable[[Tensor, Tensor], Tensor]  # (N, in), (out, in) -> (N, out)

VARIABLE = "FAIRSEQ_ROPE_PRODUCTS"
TORCH, ONEDNN, AUTO = "torch", "onednn", "auto"
# rows, in and out of a layer; in training it has two more products in the backward pass
TRAINING, SEARCH = (128, 512, 512), (160, 512, 512)
# how many times as fast oneDNN must be: between processors whose choice is clear, so that noise does not change it from
# one process to the next, and with it the last bit of the results
MIN_GAIN = 1.25
REPETITIONS = 15

_logger = logging.getLogger(__name__)
_lock = threading.Lock()
_chosen: dict[bool, str] = {}


def is_onednn(training: bool, *, torchs: Product, onednn: Product) -> bool:
    """Return whether products go through oneDNN; measures when it is first asked.

    Args:
        training: whether gradients are wanted.
        torchs: a product by torch's own library.
        onednn: the same by oneDNN.
    """
    if training not in _chosen:
        with _lock:  # a second thread waits for the answer
            if training not in _chosen:
                _chosen[training] = _choose(training, torchs, onednn)
    return _chosen[training] == ONEDNN


def gain(training: bool, *, torchs: Product, onednn: Product) -> float:
    """Return the time that torch's own library takes, by that of oneDNN: the least of several turns of each.

    By one thread: on a busy machine the times of several say more about what else runs there.
    """
    rows, inputs, outputs = TRAINING if training else SEARCH
    with torch.inference_mode(), _one_thread():
        x, weight, grad = (torch.ones(shape) for shape in ((rows, inputs), (outputs, inputs), (rows, outputs)))
        products = [(x, weight), (grad, weight.T), (grad.T, x.T)] if training else [(x, weight)]
        times: dict[str, list[float]] = {TORCH: [], ONEDNN: []}
        for _ in range(REPETITIONS):
            for name, product in ((TORCH, torchs), (ONEDNN, onednn)):
                start = time.perf_counter()
                for one, other in products:
                    product(one, other)
                times[name].append(time.perf_counter() - start)
    return min(times[TORCH]) / min(times[ONEDNN])


@contextlib.contextmanager
def _one_thread() -> Iterator[None]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def _choose(training: bool, torchs: Product, onednn: Product) -> str:
    work = "training" if training else "search"
    given = os.environ.get(VARIABLE, AUTO).lower()
    if given in (TORCH, ONEDNN):
        _logger.info("products of %s: %s, as %s says", work, given, VARIABLE)
        return given
    if given != AUTO:
        _logger.warning("%s must be torch, onednn or auto, but is %r: it is measured", VARIABLE, given)
    found = gain(training, torchs=torchs, onednn=onednn)
    chosen = ONEDNN if found >= MIN_GAIN else TORCH
    _logger.info("products of %s: %s (oneDNN is %.2f times as fast as torch's own library)", work, chosen, found)
    return chosen
