"""Sinusoids of the size that tokens have: fairseq's are as large as a deviation of 1, BERT's tokens of 0.02."""

from typing import Any

from fairseq.modules import SinusoidalPositionalEmbedding
from torch import Tensor


class ScaledSinusoids(SinusoidalPositionalEmbedding):
    """fairseq's sinusoids, times a number.

    Vaswani et al. (arXiv 1706.03762, section 3.4) multiply embeddings of deviation d^-0.5 by d^0.5 before they add
    sinusoids: 1 beside 0.71. With 0.02 as the scale embeddings of deviation 0.02 stand beside 0.014, which is the same
    relation, and leaves the embeddings as in models with other positions.

    Args:
        embed_dim: of a token, E.
        padding_idx: the token that has no position.
        length: of the table at first; it grows.
        scale: this number.
    """

    def __init__(self, embed_dim: int, padding_idx: int, *, length: int, scale: float) -> None:
        super().__init__(embed_dim, padding_idx, init_size=length + padding_idx + 1)
        self.scale = scale

    def forward(self, *args: Any, **options: Any) -> Tensor:
        """Return what is added to embeddings of tokens, (B, T, E); the arguments are fairseq's."""
        sinusoids: Tensor = super().forward(*args, **options)
        return self.scale * sinusoids
