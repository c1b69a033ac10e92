"""Second derivatives of functions that have none: an error, not a wrong number."""

from collections.abc import Callable

import pytest
import torch
from fairseq import modules
from torch import Tensor

from fairseq_rope.models._options import rotary_embedding
from fairseq_rope.modules.cpu import linear as module
from fairseq_rope.modules.cpu import route
from fairseq_rope.modules.cpu.attention import attend_in_parts
from fairseq_rope.modules.cpu.dropout import Dropout
from fairseq_rope.modules.cpu.linear import linear
from fairseq_rope.modules.projected_loss import projected_loss
from fairseq_rope.modules.rotated_qkv import rotate_qkv_

T, D = 6, 4


def rotated(x: Tensor) -> Tensor:
    projected = torch.stack(3 * [x], dim=1).view(T, 1, 3, 1, D)
    return rotate_qkv_(projected, rotary_embedding(D, base=100.0, fraction=1.0, layout="half"))[0]


FUNCTIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "cross entropy": lambda x: modules.cross_entropy(x, torch.arange(T) % D, ignore_index=1, reduction="sum"),
    "attention": lambda x: attend_in_parts(*3 * [x.view(1, 1, T, D)], None, 50_000),
    "dropout": lambda x: Dropout(0.3).train()(x),
    # each of its inputs depends on x: what it returns is no constant
    "linear": lambda x: linear(x, x, None),
    "loss": lambda x: projected_loss(x, x, torch.arange(T), epsilon=0.1, padding_idx=0).loss,
    "rotation": rotated,
}


@pytest.fixture(autouse=True)
def every_product_is_large_and_onednns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MIN_ONEDNN_PRODUCTS", 1)
    monkeypatch.setattr(route, "_chosen", dict.fromkeys(route.SHAPES, route.ONEDNN))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_graph_of_the_gradient_is_refused_and_a_gradient_is_not(name: str):
    x = torch.randn(T, D, requires_grad=True)
    loss = FUNCTIONS[name](x).sum()
    with pytest.raises(RuntimeError, match="no second derivatives: call backward without create_graph=True"):
        torch.autograd.grad(loss, x, create_graph=True, retain_graph=True)
    (grad,) = torch.autograd.grad(loss, x)
    assert grad.isfinite().all()
