"""The linear layer through oneDNN: nn.Linear's numbers, gradients and types."""

from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from fairseq_rope.modules.cpu import linear as module
from fairseq_rope.modules.cpu import onednn, route
from fairseq_rope.modules.cpu.linear import Linear, linear
from tests.support.near import PRODUCTS

SHAPES = {"matrix": (7, 12), "batch": (3, 5, 12), "one row": (1, 12), "vector": (12,), "no rows": (0, 12)}


@pytest.fixture(autouse=True)
def every_product_is_large_and_onednns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MIN_ONEDNN_PRODUCTS", 1)
    monkeypatch.setattr(route, "_chosen", dict.fromkeys(route.SHAPES, route.ONEDNN))


def twins(bias: bool = True) -> tuple[Linear, nn.Linear]:
    torch.manual_seed(1)
    ours, stock = Linear(12, 20, bias=bias), nn.Linear(12, 20, bias=bias)
    stock.load_state_dict(ours.state_dict())
    return ours, stock


@pytest.mark.parametrize("transposed", [False, True], ids=["rows in order", "transposed"])
@pytest.mark.parametrize("bias", [True, False], ids=["bias", "no bias"])
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_output_and_gradients_are_those_of_torchs_linear(shape: tuple[int, ...], bias: bool, transposed: bool):
    results = []
    for layer in twins(bias):
        x = torch.randn(shape, generator=torch.Generator().manual_seed(2)).requires_grad_()
        y = layer(x.transpose(0, 1) if transposed and x.dim() == 3 else x)
        y.pow(2).sum().backward()
        results.append([y, x.grad, *(parameter.grad for parameter in layer.parameters())])
    for actual, expected in zip(*results, strict=True):
        assert actual.shape == expected.shape
        torch.testing.assert_close(actual, expected, **PRODUCTS)


@pytest.mark.parametrize("trained", ["weight", "bias"])
def test_a_weight_or_a_bias_may_be_trained_alone(trained: str):
    grads = []
    for layer in twins():
        for name, parameter in layer.named_parameters():
            parameter.requires_grad_(name == trained)
        x = torch.randn(7, 12, generator=torch.Generator().manual_seed(2))
        layer(x).pow(2).sum().backward()
        grads.append(getattr(layer, trained).grad)
    torch.testing.assert_close(*grads, **PRODUCTS)


def test_products_do_go_through_onednn(monkeypatch: pytest.MonkeyPatch):
    assert onednn.IS_USABLE  # with the torch that constraints.txt pins
    calls, product = [], onednn.product
    monkeypatch.setattr(onednn, "product", lambda *arguments: calls.append(1) or product(*arguments))
    x = torch.randn(7, 12, requires_grad=True)
    twins()[0](x).sum().backward()
    assert len(calls) == 3  # one forward, two backward
    with torch.backends.mkldnn.flags(enabled=False):
        twins()[0](x)
    assert len(calls) == 3


@pytest.mark.parametrize("bias", [torch.randn(40)[::2], torch.randn(1).expand(20)], ids=["gaps", "one number"])
@pytest.mark.parametrize("trained", [True, False])
def test_a_bias_is_read_number_by_number_however_it_lies_in_memory(bias: Tensor, trained: bool):
    x, weight = torch.randn(7, 12), torch.randn(20, 12).requires_grad_(trained)
    torch.testing.assert_close(linear(x, weight, bias), F.linear(x, weight, bias), **PRODUCTS)


@pytest.mark.parametrize("transposed", [False, True], ids=["rows", "columns"])
def test_weights_with_gaps_are_never_left_to_onednn(monkeypatch: pytest.MonkeyPatch, transposed: bool):
    # it would take them, for a loop that is a thousand times slower
    product = onednn.product
    monkeypatch.setattr(
        onednn,
        "product",
        lambda x, weight, *rest: (
            product(x, weight, *rest)
            if weight.is_contiguous() or weight.T.is_contiguous()
            else pytest.fail("a weight with gaps")
        ),
    )
    wide, weight = torch.randn(7, 15, requires_grad=True), torch.randn(20, 15).T if transposed else torch.randn(20, 15)
    weight = weight[:12, :].T if transposed else weight[:, :12]
    results = []
    for function in (linear, nn.functional.linear):
        wide.grad, w = None, weight.detach().requires_grad_()
        y = function(wide[:, :12], w, None)
        y.pow(2).sum().backward()
        results.append([y, wide.grad, w.grad])
    for actual, expected in zip(*results, strict=True):
        torch.testing.assert_close(actual, expected, **PRODUCTS)


def test_small_products_are_torchs(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "MIN_ONEDNN_PRODUCTS", 7 * 12 * 20)
    monkeypatch.setattr(onednn, "product", lambda *_: pytest.fail("called"))
    ours, stock = twins()
    x = torch.randn(6, 12)
    assert torch.equal(ours(x), stock(x))


def other_signature(x: Tensor, weight: Tensor) -> Tensor:
    return F.linear(x, weight)


def wrong_numbers(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    return F.linear(x, weight, bias) * 1.001


def without_bias(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    return F.linear(x, weight)


@pytest.mark.parametrize("product", [other_signature, wrong_numbers, without_bias])
def test_a_product_that_another_torch_has_changed_is_not_used(product: Callable[..., Tensor]):
    assert onednn.is_usable() and onednn.is_usable(F.linear, packed=torch.clone)
    assert not onednn.is_usable(product, packed=torch.clone) and not onednn.is_usable(packed=torch.sin)


def test_a_torch_without_the_product_is_served(monkeypatch: pytest.MonkeyPatch):
    ours, stock = twins()
    monkeypatch.setattr(onednn, "IS_USABLE", False)
    monkeypatch.setattr(onednn, "product", lambda *_: pytest.fail("called"))
    x = torch.randn(7, 12)
    assert torch.equal(ours(x), stock(x))


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16], ids=str)
def test_other_types_are_torchs(dtype: torch.dtype):
    ours, stock = (layer.to(dtype) for layer in twins())
    x = torch.randn(7, 12, dtype=dtype)
    assert torch.equal(ours(x), stock(x))


@pytest.mark.parametrize(("gain", "level"), [(1.8, "INFO"), (0.4, "WARNING")])
def test_what_bfloat16_is_worth_here_is_said_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, gain: float, level: str
):
    caplog.set_level("INFO")
    monkeypatch.setattr(route, "gain", lambda *_, **__: gain)
    module._tell_worth_of_bfloat16.cache_clear()
    layer = twins()[0].bfloat16()
    for _ in range(2):
        layer(torch.randn(7, 12, dtype=torch.bfloat16))
    (record,) = caplog.records
    said = f"products of bfloat16 are {gain}0 times as fast as those of float32 on this processor"
    assert record.levelname == level and record.getMessage().startswith(said)
    assert ("costs speed and precision" in record.getMessage()) == (gain < 1)


def test_the_error_is_that_of_float32():
    torch.manual_seed(1)
    x, weight = torch.randn(64, 512), torch.randn(300, 512)
    exact = x.double() @ weight.double().T
    assert (linear(x, weight, None) - exact).abs().max() / exact.abs().max() < 2e-6


def test_no_setting_of_the_process_is_changed():
    before = torch.get_float32_matmul_precision(), torch.backends.mkldnn.matmul.fp32_precision
    twins()[0](torch.randn(7, 12, requires_grad=True)).sum().backward()
    assert (torch.get_float32_matmul_precision(), torch.backends.mkldnn.matmul.fp32_precision) == before


def test_autocast_gives_its_type():
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert twins()[0](torch.randn(7, 12)).dtype == torch.bfloat16
