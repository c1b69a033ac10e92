"""Linear layers whose weights are packed for oneDNN as long as they do not change: in a search.

A search multiplies few rows by the same weights again and again. Unpacked, each product first brings the weight into
the order that the library computes with; for the rows of one sentence's beam that takes longer than the product.
"""

import math
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from fairseq_rope.modules.cpu import onednn, route
from fairseq_rope.modules.cpu.thresholds import MAX_FEW_ROWS, MIN_PACKED_PRODUCTS, MIN_PACKED_WEIGHTS


class PackedLinear:
    """x W^T + b, where the rows of W are those of several layers, packed when first used and after each change of them.

    A change is what autograd counts, or another tensor: not a write through `.data` or numpy.
    A copy of it, and a pickle, is None: the copy of a model may be trained.
    It is given the layers anew each time, for a layer that it held and that holds it would be freed late.

    Args:
        min_rows: from which it is used.
        max_rows: up to which it is.
    """

    def __init__(self, *, min_rows: float = 0, max_rows: float = math.inf):
        self._min_rows, self._max_rows = min_rows, max_rows
        self._state: list[tuple[int, int]] = []  # none that a layer is ever in
        self._seen: list[Tensor] = []

    def product(self, x: Tensor, *layers: nn.Linear) -> Tensor | None:
        """Return x W^T + b of these layers, (..., in) to (..., out), or None where that is not for packed weights.

        That is where a gradient may be wanted, for another dtype or device, for too few or too many rows, and for
        weights made in inference mode, as pruning and norms of weights do in each call: they count no changes.
        """
        is_ours = x.dtype == layers[0].weight.dtype and x.dtype in onednn.PACKED_TYPES
        is_plain = x.device.type == "cpu" and x.dim() > 1 and x.numel() > 0
        if not (is_ours and is_plain) or torch.is_grad_enabled() or not torch.backends.mkldnn.enabled:
            return None
        if torch.is_autocast_enabled("cpu") or not self._min_rows <= x.numel() / x.size(-1) <= self._max_rows:
            return None
        weights: list[Tensor] = [layer.weight for layer in layers]
        biases: list[Tensor] = [bias for layer in layers if (bias := layer.bias) is not None]
        parameters = (*weights, *biases)
        if any(parameter.is_inference() for parameter in parameters):
            return None
        # what differs after a parameter has been written to or replaced
        state = [(parameter._version, parameter.data_ptr()) for parameter in parameters]
        if state != self._state:
            self._packed = onednn.packed(torch.cat(weights)), torch.cat(biases) if biases else None
            # kept, so that nothing new can lie where these do
            self._state, self._seen = state, [parameter.detach() for parameter in parameters]
        return onednn.product(x, *self._packed)

    def __deepcopy__(self, memo: dict[int, Any]) -> None:
        return None

    def __reduce__(self) -> tuple[type[None], tuple[()]]:
        return type(None), ()


def pack(*layers: nn.Linear) -> PackedLinear | None:
    """Return the layers as one with packed weights, or None where that is not faster or not possible.

    Args:
        layers: of the same input; all with a bias, or none.
    """
    weights = [layer.weight for layer in layers]
    dtype, numbers = weights[0].dtype, sum(weight.numel() for weight in weights)
    if dtype not in onednn.PACKED_TYPES or numbers < MIN_PACKED_WEIGHTS:
        return None
    if any(w.dtype != dtype or w.device.type != "cpu" or w.is_inference() for w in weights):
        return None
    if dtype == torch.bfloat16:
        return PackedLinear() if _is_faster(route.PACKED_BFLOAT16) else None
    few, more = _is_faster(route.PACKED_FEW_ROWS), _is_faster(route.PACKED)
    if not (few or more):
        return None
    min_rows, max_rows = 0 if few else MIN_PACKED_PRODUCTS / numbers, math.inf if more else MAX_FEW_ROWS
    return PackedLinear(min_rows=min_rows, max_rows=max_rows)


def _is_faster(work: str) -> bool:
    return route.is_onednn(work, torchs=F.linear, onednn=_packed_product, prepare=onednn.packed)


def _packed_product(x: Tensor, weight: Tensor) -> Tensor:
    return onednn.product(x, weight, None)
