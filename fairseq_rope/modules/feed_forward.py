"""Gated feed-forward layers (GLU Variants Improve Transformer, Shazeer, arXiv 2002.05202, eq. 5 and 6).

    GEGLU(x) = (GELU(x W + b) * (x V + c)) W2 + d        SwiGLU(x) = (Swish(x W + b) * (x V + c)) W2 + d

with the exact GELU, Swish of beta 1, and the biases that fairseq's layers have and the paper's have not. The rows of
`fc1` are those of W and then those of V: one product makes both, and parameters keep stock's names.
"""

import functools
from collections.abc import Callable
from typing import Any

import torch.nn.functional as F
from fairseq.modules.quant_noise import quant_noise
from torch import Tensor, nn

Activation = Callable[[Tensor], Tensor]
# torch's own, which compute half precision in float32 inside, as fairseq's gelu does with copies
GATES: dict[str | None, Activation] = {"geglu": F.gelu, "swiglu": F.silu}


def gated_size(ffn_embed_dim: int) -> int:
    """Return the hidden size F' of a gated layer in the place of one of `ffn_embed_dim`, F: 2/3 F, to a multiple of 8.

    Three matrices E x F' then have the weights of two E x F (Shazeer, section 2), but for 12 E at most: 1.6% of them at
    F = 256, 0.2% at 2048. Half-precision kernels and the blocks of quantization noise want multiples of 8; every
    multiple F' is reached, by F = 3/2 F'.
    """
    return max(8, (ffn_embed_dim + 6) // 12 * 8)


def gated(x: Tensor, *, activation: Activation) -> Tensor:
    """Return the activated first half of the last axis times its second half, (..., 2 F') to (..., F')."""
    # (..., 2 F') -> two of (..., F')
    gate, value = x.chunk(2, dim=-1)
    return activation(gate) * value


class GatedFeedForward(nn.Module):
    """The feed-forward part of a layer as `--ffn` describes it: gated, or stock's.

    To be named before fairseq's layer among a class's bases. fairseq's, of 0.12.2 and main, computes
    fc2(activation_fn(fc1(x))): the gate stands in the place of the activation.
    """

    def __init__(self, cfg: Any, *args: Any, **kwargs: Any):
        self.gate = GATES.get(getattr(cfg, "ffn", None))  # before fairseq builds fc1 and fc2
        super().__init__(cfg, *args, **kwargs)
        if self.gate is not None:
            self.activation_fn = functools.partial(gated, activation=self.gate)

    def build_fc1(self, input_dim: int, output_dim: int, q_noise: float, qn_block_size: int) -> nn.Module:
        """Build what fairseq's hook of this name builds, with W and V for a gated layer."""
        output_dim = output_dim if self.gate is None else 2 * gated_size(output_dim)
        return quant_noise(nn.Linear(input_dim, output_dim), q_noise, qn_block_size)

    def build_fc2(self, input_dim: int, output_dim: int, q_noise: float, qn_block_size: int) -> nn.Module:
        """Build what fairseq's hook of this name builds, of F' inputs for a gated layer."""
        input_dim = input_dim if self.gate is None else gated_size(input_dim)
        return quant_noise(nn.Linear(input_dim, output_dim), q_noise, qn_block_size)
