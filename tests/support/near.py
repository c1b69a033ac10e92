"""How near numbers must be: one table of tolerances, absolute where nothing else is said, and the check."""

import torch
from torch import Tensor

# by the type that is computed in
SAME = {torch.float64: 1e-9, torch.float32: 1e-5, torch.bfloat16: 5e-2}  # two ways of computing the same attention
ROTATED = {torch.float64: 1e-6, torch.float32: 1e-5, torch.bfloat16: 4e-2, torch.float16: 5e-3}  # by a float32 table
GATED = {torch.float32: 1e-5, torch.bfloat16: 2e-2, torch.float16: 2e-3}  # feed-forward layers
HALF_GRADIENTS = {torch.bfloat16: 0.03, torch.float16: 4e-3}  # relative, of the fused criterion
HALF_LOSSES = 0.05  # sums, under float16 autocast
AUTOCAST = 0.15  # bfloat16 autocast against float32
HALF = 5e-2  # logits of weights that were in half precision

# in float32
GRADIENTS = {"attention": 2e-4, "model": 1e-5, "quantized": 1e-6}  # of parameters: sums over all positions
LOSSES = {"sum": 1e-4, "ratio": 1e-6, "training, relative": 1e-4}
LOGITS = {
    **{"same weights": 1e-5, "other layout": 5e-5, "stepwise": 2e-5},
    "reference": 1e-5,  # it is in float64; here all are within 2e-6
    "large weights": 1e-4,  # which hide no mistake
}
PRODUCTS = {"atol": 2e-5, "rtol": 1e-5}  # oneDNN's against torch's
ANGLES = 1e-6  # of a cosine or sine, at any position
OTHER_ANGLES = 5e-3  # other libraries': products of float32, off by 2e-4 radians at position 4,000
SCORES = {"tokens": 1e-4, "runtime": 1e-4, "runtime's search": 2e-3}  # log-probabilities

# in float64
STEPWISE_GRADIENT = 1e-6  # relative to the largest of a parameter's
NO_GRADIENT = 1e-12  # where a gradient is rounding alone: a key's bias changes no softmax


def near(actual: Tensor, expected: Tensor, tolerance: float | None = None) -> None:
    """Check numbers of one type by the table SAME; with `tolerance` the types may differ."""
    if tolerance is None:
        assert actual.dtype == expected.dtype
        tolerance = SAME[expected.dtype]
    torch.testing.assert_close(actual.double(), expected.double(), atol=tolerance, rtol=0)
