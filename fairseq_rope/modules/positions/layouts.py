"""The rotation of pairs of dimensions, and which dimensions form a pair.

interleaved  neighbors (x1, x2), (x3, x4), ...: RoFormer, eq. 34
half         the first half with the second (x1, x_{R/2+1}), (x2, x_{R/2+2}), ...: GPT-NeoX, Llama

The two are the same model up to a permutation of the rows of q_proj and k_proj, which is `pair_order`.
"""

import torch
from torch import Tensor

LAYOUTS = ("interleaved", "half")


def rotate(x: Tensor, phasors: Tensor, *, layout: str = "interleaved") -> Tensor:
    """Return `x` with its first R dimensions rotated; pure and differentiable.

    Args:
        x: (..., T, D), of any float type.
        phasors: r e^(i angle) of each pair, complex, broadcastable to (..., T, R/2).
        layout: one of LAYOUTS.

    Returns: like `x`; computed in float32 (float64 for float64).
    """
    wide = torch.promote_types(x.dtype, torch.float32)
    rotary_dim = 2 * phasors.size(-1)
    rotated, passed = x[..., :rotary_dim].to(wide), x[..., rotary_dim:]
    # (..., T, R) -> two of (..., T, R/2)
    first, second = rotated.chunk(2, dim=-1) if layout == "half" else (rotated[..., 0::2], rotated[..., 1::2])
    cos, sin = phasors.real.to(wide), phasors.imag.to(wide)
    pairs = first * cos - second * sin, second * cos + first * sin
    joined = torch.cat(pairs, dim=-1) if layout == "half" else torch.stack(pairs, dim=-1).flatten(-2)
    return torch.cat((joined.type_as(x), passed), dim=-1)


def rotate_(x: Tensor, phasors: Tensor, *, layout: str = "interleaved") -> None:
    """Rotate in place what `rotate` returns: neighbors as complex numbers, in one pass over memory that allows it."""
    x = x[..., : 2 * phasors.size(-1)]
    if layout == "half":
        x.copy_(rotate(x, phasors, layout=layout))
        return
    wide = x
    if x.dtype not in (torch.float32, torch.float64) or not _can_view_as_complex(x):
        dtype = torch.promote_types(x.dtype, torch.float32)
        wide = x.to(dtype, memory_format=torch.contiguous_format, copy=True)
    # (..., T, R) -> (..., T, R/2): a pair rotates as a complex number times e^(i angle)
    torch.view_as_complex(wide.unflatten(-1, (-1, 2))).mul_(phasors.to(wide.dtype.to_complex()))
    if wide is not x:
        x.copy_(wide)


def _can_view_as_complex(x: Tensor) -> bool:
    return x.stride(-1) == 1 and not x.storage_offset() % 2 and not any(stride % 2 for stride in x.stride()[:-1])


def pair_order(head_dim: int, rotary_dim: int, *, source: str, target: str) -> Tensor:
    """Return which dimension of a head in layout `source` stands at each place of a head in layout `target`.

    Queries and keys that are both reordered by it keep their products, so that a model only changes its layout.

    Args:
        head_dim: D.
        rotary_dim: R; the dimensions from R on do not rotate and stay where they are.
        source: the model's `--rope-layout`.
        target: the wanted one.

    Returns: (D,), a permutation of 0 .. D-1.
    """
    dimensions = torch.arange(head_dim)
    if source == target:
        return dimensions
    # (R,) -> (R/2, 2) -> (2, R/2) -> (R,): first all first ones of the neighbor pairs, then all second ones
    to_half = dimensions[:rotary_dim].view(-1, 2).t().flatten()
    pairs = to_half if target == "half" else to_half.argsort()
    return torch.cat((pairs, dimensions[rotary_dim:]))
