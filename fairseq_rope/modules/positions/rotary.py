"""Rotary position embedding (RoFormer, Su et al., arXiv 2104.09864, eq. 34)."""

import torch
from torch import Tensor

from fairseq_rope.modules.positions import layouts
from fairseq_rope.modules.positions.base import PositionMethod
from fairseq_rope.modules.positions.frequencies import FrequencySchedule


class RotaryEmbedding(PositionMethod):
    """Rotates queries and keys by their positions.

    Positions count every token, padding too, from 0: a score depends on differences only.

    Not a Module on purpose: `--fp16` and `--bf16` cast every registered buffer, which would put the angles at
    position 1,000 off by up to 2 radians, and nothing of RoPE belongs in a checkpoint. The table of phasors is made in
    float64, kept in the precision of float32, follows the tensors' device and grows with their length.
    """

    takes_positions = True

    def __init__(self, rotary_dim: int, *, frequencies: FrequencySchedule, layout: str = "interleaved"):
        """Make an embedding that rotates the first `rotary_dim` dimensions of each head and passes the others.

        Raises:
            ValueError: `rotary_dim` is odd or below 2.
        """
        if rotary_dim < 2 or rotary_dim % 2:
            raise ValueError(f"the rotary size must be even and above 0, but is {rotary_dim}")
        self.rotary_dim = rotary_dim
        self.layout = layout
        self.theta, self.magnitude = frequencies(rotary_dim)
        self._table = self._phasors_at(torch.empty(0, dtype=torch.float64, device="cpu")).to(torch.complex64)

    def rotate_(self, qk: Tensor, *, offset: int = 0, positions: Tensor | None = None, transpose: bool = False) -> None:
        """Rotate `qk` (..., T, D) in place; see `PositionMethod`."""
        phasors = self.phasors(qk, offset=offset, positions=positions)
        layouts.rotate_(qk, phasors.conj() if transpose else phasors, layout=self.layout)

    def rotate(self, x: Tensor, *, offset: int = 0, positions: Tensor | None = None) -> Tensor:
        """Return `x` (..., T, D), queries or keys, rotated; differentiable. `positions` are (B, T) for (B, H, T, D)."""
        return layouts.rotate(x, self.phasors(x, offset=offset, positions=positions), layout=self.layout)

    def phasors(self, x: Tensor, *, offset: int, positions: Tensor | None) -> Tensor:
        """Return r e^(i angle) of the pairs of `x` (..., T, D): (T, R/2), or (B, 1, T, R/2) at `positions` (B, T)."""
        if positions is None:
            return self.table(offset + x.size(-2), x.device)[..., offset:, :]
        # (B, T) -> (B, 1, T)
        return self._phasors_at(positions.to(x.device).double()[:, None]).to(torch.complex64)

    def table(self, length: int, device: torch.device) -> Tensor:
        """Return the phasors at positions 0 .. length-1, (length, R/2), complex64, on `device`."""
        table = self._table  # read once: another thread may put a shorter one in its place
        size = table.size(-2)
        if length > size:
            size = max(length, 2 * size)  # doubled, so that decoding step by step seldom fills it anew
        if size != table.size(-2) or device != table.device:
            # a table that is first made while generating must still be usable by autograd later
            with torch.inference_mode(False):
                positions = torch.arange(size, dtype=torch.float64, device="cpu")
                self._table = table = self._phasors_at(positions).to(torch.complex64).to(device)
        return table[..., :length, :]

    def _phasors_at(self, positions: Tensor) -> Tensor:
        """Return the phasors at `positions` (...), (..., R/2), in float64."""
        angles = positions[..., None] * self.theta.to(positions.device)
        return torch.polar(torch.full_like(angles, self.magnitude), angles)
