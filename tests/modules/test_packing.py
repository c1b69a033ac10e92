"""Packed weights: the numbers of the layers, also after these change, and never in training."""

import copy
import gc
import pickle
import weakref
from typing import Any

import pytest
import torch
from fairseq.optim.adam import Adam
from torch import nn
from torch.nn.utils import parametrizations, prune

from fairseq_rope.modules.cpu import onednn, packing, route
from fairseq_rope.modules.cpu.linear import Linear
from fairseq_rope.modules.cpu.packing import PackedLinear, pack
from tests.support.near import PRODUCTS


@pytest.fixture(autouse=True)
def every_weight_is_packed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packing, "MIN_PACKED_WEIGHTS", 1)
    monkeypatch.setattr(route, "_chosen", dict.fromkeys(route.SHAPES, route.ONEDNN))


def fixed(*, bias: bool = True, size: int | None = None) -> Linear:
    torch.manual_seed(1)
    layer = Linear(size or 12, size or 20, bias=bias)
    layer.make_generation_fast_(name="layer")
    return layer


@pytest.mark.parametrize("bias", [True, False], ids=["bias", "no bias"])
@pytest.mark.parametrize("shape", [(7, 12), (1, 12), (3, 5, 12), (2, 3, 1, 12), (12,), (0, 12)], ids=str)
def test_a_layer_gives_the_same_numbers_packed(shape: tuple[int, ...], bias: bool):
    layer, x = fixed(bias=bias), torch.randn(shape)
    with torch.no_grad():
        torch.testing.assert_close(layer(x), nn.functional.linear(x, layer.weight, layer.bias), **PRODUCTS)


def test_bfloat16_is_packed_apart_and_float32_rows_are_none_of_it():
    layer, x = Linear(12, 20).bfloat16(), torch.randn(7, 12)
    layer.make_generation_fast_(name="layer")
    if torch.bfloat16 not in onednn.PACKED_TYPES:  # a processor without AVX-512 has no such products
        assert layer.packed is None
        return
    with torch.no_grad():
        expected = nn.functional.linear(x.bfloat16(), layer.weight, layer.bias)
        torch.testing.assert_close(layer.packed.product(x.bfloat16(), layer), expected, atol=2e-2, rtol=2e-2)
        assert layer.packed.product(x, layer) is None
        assert layer.float().packed.product(x.bfloat16(), layer) is None


def test_rows_with_gaps_and_in_another_order_are_multiplied_as_they_stand():
    layer, wide = fixed(), torch.randn(5, 3, 15)
    with torch.no_grad():
        for x in (wide[..., :12], wide[..., :12].transpose(0, 1), wide[::2, :, 3:]):
            torch.testing.assert_close(layer(x), nn.functional.linear(x, layer.weight, layer.bias), **PRODUCTS)


def test_several_layers_are_one_product():
    layers = [Linear(12, size) for size in (8, 20, 4)]
    x, packed = torch.randn(3, 5, 12), pack(*layers)
    assert packed is not None
    with torch.no_grad():
        expected = torch.cat([layer(x) for layer in layers], dim=-1)
        torch.testing.assert_close(packed.product(x, *layers), expected, **PRODUCTS)


def test_packed_products_do_go_through_onednn_and_are_packed_once(monkeypatch: pytest.MonkeyPatch):
    calls, original = [], onednn.packed
    monkeypatch.setattr(onednn, "packed", lambda weight: calls.append(1) or original(weight))
    layer = fixed()
    assert not calls  # until it is used: attention joins the weights of three layers and never uses theirs
    with torch.inference_mode():
        for _ in range(3):
            layer(torch.randn(7, 12))
    assert len(calls) == 1


@pytest.mark.parametrize("change", ["written to", "trained", "loaded", "replaced", "cast there and back"])
def test_a_layer_that_changes_is_packed_again(change: str):
    layer, x = fixed(size=512), torch.randn(7, 512)  # so large that its memory is given back and taken again
    optimizer = Adam(layer.parameters(), lr=0.1)
    layer(x).sum().backward()
    with torch.no_grad():
        layer(x)
        if change == "written to":
            layer.bias.add_(1)
        elif change == "trained":
            optimizer.step()
        elif change == "loaded":
            layer.load_state_dict(Linear(512, 512).state_dict())
        elif change == "replaced":
            layer.weight = nn.Parameter(torch.randn(512, 512))
        else:
            layer.bfloat16().float()
        torch.testing.assert_close(layer(x), nn.functional.linear(x, layer.weight, layer.bias), **PRODUCTS)


@pytest.mark.parametrize("made_anew", [prune.identity, parametrizations.weight_norm], ids=["pruned", "weight norm"])
@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_weights_that_are_made_anew_in_each_call_are_those_of_the_call(mode: Any, made_anew: Any):
    layer, x = Linear(12, 20), torch.randn(7, 12)
    made_anew(layer, "weight")
    layer.make_generation_fast_(name="layer")
    original = next(parameter for name, parameter in layer.named_parameters() if "orig" in name)
    for _ in range(2):
        with mode():
            actual = layer(x)
            torch.testing.assert_close(actual, nn.functional.linear(x, layer.weight, layer.bias), **PRODUCTS)
        with torch.no_grad():
            original.mul_(2)


def test_gradients_other_types_and_autocast_are_never_packed(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(onednn, "packed", lambda _: pytest.fail("packed"))
    layer, x = fixed(), torch.randn(7, 12)
    layer(x).sum().backward()
    with torch.no_grad():
        with torch.autocast("cpu", dtype=torch.bfloat16):
            assert layer(x).dtype == torch.bfloat16
        with torch.backends.mkldnn.flags(enabled=False):
            layer(x)
        assert layer.double()(x.double()).dtype == torch.float64


def test_a_copy_and_a_pickle_have_the_weights_alone():
    layer = fixed()
    with torch.no_grad():
        layer(torch.randn(7, 12))
    for twin in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))):
        assert twin.packed is None and torch.equal(twin.weight, layer.weight)
    assert isinstance(layer.packed, PackedLinear) and list(layer.state_dict()) == ["weight", "bias"]


def test_a_layer_that_nobody_needs_is_freed_at_once():
    layer = fixed()
    with torch.no_grad():
        layer(torch.randn(7, 12))
    seen = weakref.ref(layer)
    gc.disable()
    try:
        del layer
        assert seen() is None
    finally:
        gc.enable()


def test_small_weights_other_types_and_processors_where_it_is_slower_are_left_alone(monkeypatch: pytest.MonkeyPatch):
    layer = Linear(12, 20)
    assert pack(layer) is not None
    assert pack(Linear(12, 20).double()) is None
    for module, name, value in (
        (packing, "MIN_PACKED_WEIGHTS", 12 * 20 + 1),
        (onednn, "PACKED_TYPES", [torch.bfloat16]),
        (route, "_chosen", dict.fromkeys(route.SHAPES, route.TORCH)),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(module, name, value)
            assert pack(layer) is None


def test_few_rows_are_torchs_where_they_are_measured_to_be_faster(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(packing, "MIN_PACKED_PRODUCTS", 7 * 12 * 20)
    monkeypatch.setitem(route._chosen, route.PACKED_FEW_ROWS, route.TORCH)
    layer = fixed()
    with torch.no_grad():
        assert layer.packed.product(torch.randn(6, 12), layer) is None
        assert layer.packed.product(torch.randn(7, 12), layer) is not None
        layers = Linear(12, 20), Linear(12, 20)  # twice the multiplications for a row
        joined = pack(*layers)
        assert joined.product(torch.randn(2, 2, 12), *layers) is not None
        assert joined.product(torch.randn(3, 12), *layers) is None
        monkeypatch.setitem(route._chosen, route.PACKED_FEW_ROWS, route.ONEDNN)
        layer = fixed()
        assert layer.packed.product(torch.randn(1, 12), layer) is not None


def test_only_few_rows_are_packed_where_they_alone_are_measured_to_be_faster(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(route._chosen, route.PACKED, route.TORCH)
    monkeypatch.setitem(route._chosen, route.PACKED_FEW_ROWS, route.ONEDNN)
    layer = fixed()
    with torch.no_grad():
        few, more = torch.randn(2, 4, 12), torch.randn(3, 3, 12)
        assert layer.packed.product(few, layer) is not None and layer.packed.product(more, layer) is None
        for x in (few, more):
            torch.testing.assert_close(layer(x), nn.functional.linear(x, layer.weight, layer.bias), **PRODUCTS)
