"""oneDNN's product of a linear layer, which is private to torch: checked before it is used."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor


def product(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """Return `F.linear(x, weight, bias)`; `weight` may be what `packed` returned."""
    # torch uses it in compiled models; the last three: no function fused behind the product
    found: Tensor = torch.ops.mkldnn._linear_pointwise(x, weight, bias, "none", [], "")
    return found


def packed(weight: Tensor) -> Tensor:
    """Return a weight (out, in) in the order that oneDNN computes with, for any number of rows."""
    found: Tensor = torch.ops.mkldnn._reorder_linear_weight(weight, None)
    return found


def is_usable(
    product: Callable[[Tensor, Tensor, Tensor | None], Tensor] = product,
    packed: Callable[[Tensor], Tensor] = packed,
    dtype: torch.dtype = torch.float32,
) -> bool:
    """Return whether oneDNN's products are there, take these arguments and give `F.linear`'s numbers."""
    # small whole numbers, which bfloat16 has too
    x, weight, bias = (torch.arange(float(n), dtype=dtype, device="cpu") for n in (12, 6, 2))
    x, weight = x.view(4, 3), weight.view(2, 3)
    try:
        with torch.no_grad():
            return torch.backends.mkldnn.is_available() and all(
                torch.allclose(product(x, w, b), F.linear(x, weight, b))
                for w in (weight, packed(weight))
                for b in (bias, None)
            )
    except Exception:  # another version of torch: all is as in nn.Linear
        return False


IS_USABLE = is_usable()
PACKED_TYPES = [dtype for dtype in (torch.float32, torch.bfloat16) if is_usable(dtype=dtype)]
