"""The best rate of this processor at products of matrices: what a training step is measured against on a CPU."""

import time
from collections.abc import Callable

import torch
import torch.nn.functional as F

from fairseq_rope.modules.cpu import onednn

# rows, in and out, as a layer of iwslt or base size has them
SHAPES = ((2048, 512, 512), (4096, 512, 2048))
REPETITIONS = 5
DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}


def best(dtype: str) -> float:
    """Return the floating-point operations a second of the fastest product, by all threads of this process.

    Args:
        dtype: fp32, bf16 or fp16.
    """
    products: list[Callable[..., torch.Tensor]] = [F.linear]
    if dtype == "fp32" and onednn.IS_USABLE:
        products.append(onednn.product)
    with torch.inference_mode():
        return max(_rate(product, shape, DTYPES[dtype]) for shape in SHAPES for product in products)


def _rate(product: Callable[..., torch.Tensor], shape: tuple[int, int, int], dtype: torch.dtype) -> float:
    rows, inputs, outputs = shape
    x, weight = torch.ones(rows, inputs, dtype=dtype), torch.ones(outputs, inputs, dtype=dtype)
    product(x, weight, None)  # some libraries compile their product when they first meet a shape
    seconds = []
    for _ in range(REPETITIONS):
        start = time.perf_counter()
        product(x, weight, None)
        seconds.append(time.perf_counter() - start)
    return 2 * rows * inputs * outputs / min(seconds)
