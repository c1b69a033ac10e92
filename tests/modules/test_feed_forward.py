"""Gated feed-forward layers: a slow loop in float64, other libraries, gradients, sizes, types."""

import importlib
import math
import sys

import pytest
import torch
from torch import Tensor, nn

from fairseq_rope.modules.cpu.linear import Linear
from fairseq_rope.modules.feed_forward import GATES, gated, gated_size
from tests.support.near import GATED, PRODUCTS, near
from tests.support.small import small

E, STOCK, F = 24, 48, 32  # the model's size, stock's hidden size, and a gated layer's
GATE = pytest.mark.parametrize("gate", GATES)
ACTIVATED = {
    "geglu": lambda x: x * (1 + math.erf(x / math.sqrt(2))) / 2,
    "swiglu": lambda x: x / (1 + math.exp(-x)),
}


def layers(**options) -> list[nn.Module]:
    """An encoder layer and a decoder layer, whose biases are not zero."""
    model = small(encoder_ffn_embed_dim=STOCK, **options)
    return [model.encoder.layers[0], model.decoder.layers[0]]


def forward(layer: nn.Module, x: Tensor) -> Tensor:
    return layer.fc2(layer.activation_fn(layer.fc1(x)))


def random(*shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(2)).to(dtype)


def slow(layer: nn.Module, gate: str, x: Tensor) -> Tensor:
    """(act(x W + b) * (x V + c)) W2 + d for one token, x (E,), a number at a time."""
    (w1, b1), (w2, b2) = ((fc.weight.double(), fc.bias.double()) for fc in (layer.fc1, layer.fc2))
    hidden = []
    for f in range(F):
        linear = [sum(float(w1[row, e] * x[e]) for e in range(E)) + float(b1[row]) for row in (f, F + f)]
        hidden.append(ACTIVATED[gate](linear[0]) * linear[1])
    rows = range(E)
    return torch.tensor([sum(float(w2[e, f]) * hidden[f] for f in range(F)) + float(b2[e]) for e in rows]).double()


@GATE
@pytest.mark.parametrize("dtype", GATED, ids=str)
@torch.no_grad()
def test_it_equals_the_formula_in_a_slow_loop(gate: str, dtype: torch.dtype):
    x = random(3, 2, E, dtype=dtype)
    for layer in layers(ffn=gate):
        actual = forward(layer.to(dtype), x)
        assert actual.dtype == dtype
        expected = torch.stack([slow(layer, gate, token.double()) for token in x.flatten(0, 1)])
        near(actual.flatten(0, 1), expected, GATED[dtype])


def swapped(rows: Tensor) -> Tensor:
    """The rows of W and V in the other order, which is that of x-transformers."""
    return torch.cat(rows.chunk(2)[::-1])


@GATE
def test_output_and_gradients_equal_x_transformers(gate: str):
    library = pytest.importorskip(
        "x_transformers.x_transformers", reason="the oracle, x-transformers, is not installed"
    )
    for layer in layers(ffn=gate):
        oracle = library.FeedForward(E, mult=F / E, glu=True, swish=gate == "swiglu")
        proj, out = oracle.ff[0].proj, oracle.ff[-1]
        with torch.no_grad():
            out.load_state_dict(layer.fc2.state_dict())
            proj.weight.copy_(swapped(layer.fc1.weight))
            proj.bias.copy_(swapped(layer.fc1.bias))
        x, y = random(5, E).requires_grad_(), random(5, E).requires_grad_()
        actual, expected = forward(layer, x), oracle(y)
        actual.pow(2).sum().backward()
        expected.pow(2).sum().backward()
        torch.testing.assert_close(actual, expected, **PRODUCTS)
        torch.testing.assert_close(x.grad, y.grad, **PRODUCTS)
        torch.testing.assert_close(layer.fc1.weight.grad, swapped(proj.weight.grad), **PRODUCTS)
        torch.testing.assert_close(layer.fc1.bias.grad, swapped(proj.bias.grad), **PRODUCTS)


@GATE
@torch.no_grad()
def test_it_equals_hugging_face_t5(gate: str, monkeypatch: pytest.MonkeyPatch):
    # torchaudio's binary does not load beside every torch
    monkeypatch.setitem(sys.modules, "torchaudio", None)
    pytest.importorskip("transformers", reason="the oracle, Hugging Face transformers, is not installed")
    t5 = importlib.import_module("transformers.models.t5.modeling_t5")
    config = t5.T5Config(d_model=E, d_ff=F, dropout_rate=0.0, feed_forward_proj="gated-silu")
    config.dense_act_fn = "gelu" if gate == "geglu" else "silu"
    x = random(5, E)
    for layer in layers(ffn=gate):
        oracle = t5.T5DenseGatedActDense(config)
        # T5's have no bias
        nn.init.zeros_(layer.fc1.bias)
        nn.init.zeros_(layer.fc2.bias)
        w, v = layer.fc1.weight.chunk(2)
        weights = {"wi_0.weight": w, "wi_1.weight": v, "wo.weight": layer.fc2.weight}
        oracle.load_state_dict(weights)
        torch.testing.assert_close(forward(layer, x), oracle(x), **PRODUCTS)


@GATE
def test_the_gate_can_be_differentiated(gate: str):
    x = random(3, 2 * F, dtype=torch.float64).requires_grad_()
    assert torch.autograd.gradcheck(lambda x: gated(x, activation=GATES[gate]), x)


@pytest.mark.parametrize(("ffn_embed_dim", "size"), [(256, 168), (1024, 680), (2048, 1368), (4096, 2728), (1, 8)])
def test_the_hidden_size_is_two_thirds_to_a_multiple_of_8(ffn_embed_dim: int, size: int):
    assert gated_size(ffn_embed_dim) == size


def test_no_size_is_further_from_two_thirds_than_4_and_every_multiple_of_8_is_reached():
    for ffn_embed_dim in range(6, 5000):
        assert gated_size(ffn_embed_dim) % 8 == 0
        assert abs(3 * gated_size(ffn_embed_dim) - 2 * ffn_embed_dim) <= 12
    for size in range(8, 5000, 8):
        assert gated_size(3 * size // 2) == size


@GATE
def test_the_products_are_those_that_a_cpu_computes_faster(gate: str):
    for layer in layers(ffn=gate):
        assert type(layer.fc1) is type(layer.fc2) is Linear


@pytest.mark.parametrize("ffn", [None, "relu"])
def test_without_a_gate_the_layer_is_stocks(ffn: str | None):
    for layer in layers(**({} if ffn is None else {"ffn": ffn})):
        assert layer.activation_fn is nn.functional.relu
        assert (layer.fc1.out_features, layer.fc2.in_features) == (STOCK, STOCK)


@pytest.mark.parametrize("gate", [None, *GATES])
def test_quantization_noise_reaches_both_products_in_training_only(gate: str | None):
    x = random(5, E)
    for layer in layers(ffn=gate, quant_noise_pq=0.5):
        hidden = layer.activation_fn(layer.fc1(x))
        for training in (True, False):
            for fc, given in ((layer.fc1.train(training), x), (layer.fc2.train(training), hidden)):
                assert torch.equal(fc(given), fc(given)) is not training
