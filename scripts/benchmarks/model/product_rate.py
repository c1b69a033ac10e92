"""The rate of this processor at products of matrices just now: what a training step is measured against on a CPU."""

import time
from collections.abc import Callable

import torch
import torch.nn.functional as F

from fairseq_rope.modules.cpu import onednn

# rows, in and out, as a layer of iwslt or base size has them
SHAPES = ((2048, 512, 512), (4096, 512, 2048))
# of each product: the best of a few calls is a rate that no step of seconds could keep where cores are shared
SECONDS = 0.1
DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}


def best(dtype: str) -> float:
    """Return the floating-point operations a second of the fastest product just now, by all threads of this process.

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
    x, weight = torch.randn(rows, inputs, dtype=dtype), torch.randn(outputs, inputs, dtype=dtype)
    product(x, weight, None)  # some libraries compile their product when they first meet a shape
    products, seconds = 0, 0.0
    start = time.perf_counter()
    while seconds < SECONDS:
        product(x, weight, None)
        products += 1
        seconds = time.perf_counter() - start
    return 2 * rows * inputs * outputs * products / seconds
