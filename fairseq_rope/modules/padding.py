"""Which keys are padding, and what hides them from the scores of attention, made once for all layers of a stack.

fairseq's layers (0.12.2 and main) hand on the padding mask as it is: a `Padding` may stand in its place. Attentions
take either, and what they call a `Padding` alone.
"""

import torch
from torch import Tensor

_KERNEL_WIDTH = 8  # a GPU's kernels copy masks whose rows do not begin at a multiple of this


class Padding:
    """The padding of a batch, and the bias of scores that hides it."""

    def __init__(self, mask: Tensor):
        """Take where it is.

        Args:
            mask: (B, S), true at padding.
        """
        self.mask = mask.bool()
        self._biases: dict[torch.dtype, Tensor] = {}

    def bias(self, dtype: torch.dtype) -> Tensor:
        """Return what is added to scores of type `dtype`, (B, 1, 1, S), not to be written to."""
        if dtype not in self._biases:
            batch, length = self.mask.shape
            rows = self.mask.new_zeros(batch, 1, 1, length + -length % _KERNEL_WIDTH, dtype=dtype)[..., :length]
            self._biases[dtype] = rows.masked_fill_(self.mask[:, None, None], hidden(dtype))
        return self._biases[dtype]


def hidden(dtype: torch.dtype) -> float:
    """Return the bias of a hidden key: finite and far below any score, for with -inf a row without any key is NaN."""
    return torch.finfo(dtype).min / 2
