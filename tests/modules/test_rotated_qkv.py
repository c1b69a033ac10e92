"""Queries, keys and values from one projection: the rotation of each, its gradient, and no copy."""

import pytest
import torch
from torch import Tensor

from fairseq_rope.models._options import rotary_embedding
from fairseq_rope.modules.positions.base import PositionMethod
from fairseq_rope.modules.positions.layouts import LAYOUTS
from fairseq_rope.modules.positions.rotary import RotaryEmbedding
from fairseq_rope.modules.rotated_qkv import rotate_qkv_
from tests.support.near import ROTATED

T, B, H, D = 5, 2, 3, 10
OFFSET = 900
LAYOUT = pytest.mark.parametrize("layout", LAYOUTS)
FRACTION = pytest.mark.parametrize("fraction", [1.0, 0.6])
DTYPE = pytest.mark.parametrize("dtype", ROTATED, ids=str)


def make(layout: str, fraction: float) -> RotaryEmbedding:
    return rotary_embedding(D, base=100.0, fraction=fraction, layout=layout)


def random(*shape: int, dtype: torch.dtype) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(3)).to(dtype)


@LAYOUT
@FRACTION
@DTYPE
def test_queries_and_keys_are_rotated_and_values_are_not(layout: str, fraction: float, dtype: torch.dtype) -> None:
    rotary, projected = make(layout, fraction), random(T, B, 3, H, D, dtype=dtype)
    expected = projected.clone().permute(2, 1, 3, 0, 4)
    q, k, v = rotate_qkv_(projected, rotary, offset=OFFSET)
    for actual, part in zip((q, k), expected[:2], strict=True):
        torch.testing.assert_close(actual, rotary.rotate(part, offset=OFFSET), atol=ROTATED[dtype], rtol=0)
    assert torch.equal(v, expected[2])


@LAYOUT
@FRACTION
@DTYPE
def test_all_three_lie_where_the_projection_lay(layout: str, fraction: float, dtype: torch.dtype) -> None:
    projected = random(T, B, 3, H, D, dtype=dtype).requires_grad_() * 1
    for i, part in enumerate(rotate_qkv_(projected, make(layout, fraction))):
        assert part.data_ptr() == projected[0, 0, i].data_ptr() and part.requires_grad


@LAYOUT
@FRACTION
def test_the_gradient_is_right(layout: str, fraction: float) -> None:
    rotary = make(layout, fraction)
    x = random(T, B, 3, H, D, dtype=torch.float64).requires_grad_()
    assert torch.autograd.gradcheck(lambda x: rotate_qkv_(x * 1, rotary, offset=7), x)


@pytest.mark.parametrize("axes", [(0, 1), (1, 0)], ids=["by position", "by sentence"])
def test_the_gradient_lies_in_memory_as_the_projection_did(axes: tuple[int, int]) -> None:
    shape = torch.Size(torch.tensor((T, B))[list(axes)])
    x = random(*shape, 3, H, D, dtype=torch.float32).requires_grad_()
    found: list[Tensor] = []
    projected = (x * 1).permute(*axes, 2, 3, 4)
    projected.register_hook(found.append)
    sum(part.sum() for part in rotate_qkv_(projected, make("half", 1.0))).backward()  # type: ignore[union-attr]
    assert found[0].stride() == x.permute(*axes, 2, 3, 4).stride()


@LAYOUT
def test_in_low_precision_gradients_are_turned_back_in_float32(layout: str) -> None:
    rotary, weight = make(layout, 0.6), random(T, B, 3, H, D, dtype=torch.bfloat16)
    gradients = []
    for dtype in (torch.bfloat16, torch.float64):
        x = random(T, B, 3, H, D, dtype=torch.bfloat16).to(dtype).requires_grad_()
        parts = torch.stack(rotate_qkv_(x * 1, rotary, offset=OFFSET))
        (parts * weight.permute(2, 1, 3, 0, 4)).sum().backward()
        gradients.append(x.grad.double())
    torch.testing.assert_close(*gradients, atol=ROTATED[torch.bfloat16], rtol=0)


def test_a_table_first_made_in_inference_mode_serves_autograd() -> None:
    rotary = make("interleaved", 1.0)
    with torch.inference_mode():
        rotary.rotate(random(B, H, T, D, dtype=torch.float32))
    x = random(T, B, 3, H, D, dtype=torch.float32).requires_grad_()
    torch.stack(rotate_qkv_(x * 1, rotary)).pow(2).sum().backward()
    torch.testing.assert_close(x.grad, 2 * x.detach(), atol=1e-5, rtol=0)


@LAYOUT
def test_explicit_positions_have_a_right_gradient_too(layout: str) -> None:
    rotary, positions = make(layout, 0.6), random(B, T, dtype=torch.float64) * 100
    x = random(T, B, 3, H, D, dtype=torch.float64).requires_grad_()
    q, k, v = rotate_qkv_(x * 1, rotary, positions=positions)
    # (T, B, 3, H, D) -> (3, B, H, T, D)
    expected = x.permute(2, 1, 3, 0, 4)
    torch.testing.assert_close(q, rotary.rotate(expected[0], positions=positions))
    torch.testing.assert_close(k, rotary.rotate(expected[1], positions=positions))
    assert torch.equal(v, expected[2])
    assert torch.autograd.gradcheck(lambda x: rotate_qkv_(x * 1, rotary, positions=positions), x)


def test_without_positions_nothing_is_rotated() -> None:
    x = random(T, B, 3, H, D, dtype=torch.float64).requires_grad_()
    parts = torch.stack(rotate_qkv_(x * 1, PositionMethod(), offset=3))
    assert torch.equal(parts, x.permute(2, 1, 3, 0, 4))
    assert torch.autograd.gradcheck(lambda x: rotate_qkv_(x * 1, PositionMethod()), x)
