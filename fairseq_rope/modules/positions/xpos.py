"""xPos: rotation whose scores decay with distance (Sun et al., arXiv 2212.10554, section 2.2)."""

import torch
from torch import Tensor

from fairseq_rope.modules.positions.frequencies import FrequencySchedule
from fairseq_rope.modules.positions.rotary import RotaryEmbedding


class XPos(RotaryEmbedding):
    """Rotates queries and keys, and stretches pair i of a query at n by zeta_i^(n/scale_base), of a key by its inverse.

    zeta_i = (i / (R/2) + gamma) / (1 + gamma), i = 0 .. R/2-1: a score shrinks by zeta_i^((m-n)/scale_base) with the
    distance of a key before its query, and would grow with that of a key after it. So it is for decoders only.
    """

    takes_some_queries = False  # queries and keys are not rotated alike

    def __init__(
        self,
        rotary_dim: int,
        *,
        frequencies: FrequencySchedule,
        layout: str = "interleaved",
        scale_base: float = 512.0,
        gamma: float = 0.4,
    ):
        pairs = torch.arange(rotary_dim // 2, dtype=torch.float64, device="cpu")
        self.log_zeta = torch.log((pairs / (rotary_dim / 2) + gamma) / (1 + gamma)) / scale_base
        super().__init__(rotary_dim, frequencies=frequencies, layout=layout)

    def _phasors_at(self, positions: Tensor) -> Tensor:
        rotation = super()._phasors_at(positions)
        log_scale = positions[..., None] * self.log_zeta.to(positions.device)
        both = torch.stack((rotation * log_scale.exp(), rotation * log_scale.neg().exp()))
        # of the table: (2, N, R/2) -> (2, 1, 1, N, R/2), as queries and keys (2, B, H, T, D) need it
        return both[:, None, None] if positions.dim() == 1 else both
