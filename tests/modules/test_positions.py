"""xPos, ALiBi, T5's bias and Shaw's vectors: against other libraries, at their edges, and their gradients."""

import functools
import importlib
import sys

import pytest
import torch
from torch import Tensor

from fairseq_rope.modules.attention import SelfAttention
from fairseq_rope.modules.positions.alibi import ALiBi, alibi_slopes
from fairseq_rope.modules.positions.base import PositionMethod
from fairseq_rope.modules.positions.distances import by_query_and_key, distances
from fairseq_rope.modules.positions.frequencies import inverse_frequencies
from fairseq_rope.modules.positions.shaw import Shaw
from fairseq_rope.modules.positions.t5 import T5Bias
from fairseq_rope.modules.positions.xpos import XPos
from tests import reference_positions as reference
from tests.support.near import near

B, H, T, S, D = 2, 6, 5, 300, 8
FREQUENCIES = functools.partial(inverse_frequencies, base=10000.0)


def random(*shape: int, dtype: torch.dtype = torch.float32, seed: int = 3) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed)).to(dtype)


@pytest.fixture
def oracle(monkeypatch: pytest.MonkeyPatch):
    """Import a module of another library, without torchaudio, whose binary does not load beside every torch."""
    monkeypatch.setitem(sys.modules, "torchaudio", None)
    return importlib.import_module


@pytest.mark.parametrize(("queries", "offset"), [(T, 0), (1, 7), (3, 4), (8, 0)])
def test_distances_are_spread_over_queries_and_keys(queries, offset):
    keys = 8
    spread = by_query_and_key(distances(queries, keys, offset=offset, device=torch.device("cpu")), num_keys=keys)
    assert spread.tolist() == [[j - (offset + i) for j in range(keys)] for i in range(queries)]


@pytest.mark.parametrize("heads", [1, 2, 4, 6, 8, 12, 16, 20])
def test_alibis_slopes_are_those_of_x_transformers_and_bloom(oracle, heads):
    expected = oracle("x_transformers.x_transformers").AlibiPositionalBias(heads).slopes.flatten()
    near(alibi_slopes(heads), expected, 1e-7)
    bloom = oracle("transformers.models.bloom.modeling_bloom").build_alibi_tensor(
        torch.ones(1, 2), heads, torch.float32
    )
    near(alibi_slopes(heads), bloom[:, 0, 1], 1e-7)
    near(alibi_slopes(heads), torch.tensor([reference.alibi_slope(h, heads) for h in range(heads)]), 1e-7)


def test_alibis_bias_is_that_of_x_transformers(oracle):
    expected = oracle("x_transformers.x_transformers").AlibiPositionalBias(H)
    method = ALiBi(H)
    near(method.bias(random(B, H, T, D), num_keys=T)[0], expected(T, T))
    step = method.bias(random(B, H, 1, D), num_keys=S, offset=S - 1)
    near(step[0], expected(1, S))


def test_alibis_slopes_go_to_a_device_once_where_each_copy_would_let_the_host_wait(monkeypatch: pytest.MonkeyPatch):
    method, q = ALiBi(H), random(B, H, T, D)
    before = method.bias(q, num_keys=T)
    copies, to = [], Tensor.to
    monkeypatch.setattr(Tensor, "to", lambda x, *where, **options: copies.append(where) or to(x, *where, **options))
    assert [method.bias(q.new_empty(q.shape, device="meta"), num_keys=T).device.type for _ in range(3)] == ["meta"] * 3
    assert copies.count((torch.device("meta"),)) == 1
    assert torch.equal(method.bias(q, num_keys=T), before)


@pytest.mark.parametrize("bidirectional", [True, False])
def test_t5s_bias_is_that_of_hugging_face_and_x_transformers(oracle, bidirectional):
    t5 = oracle("transformers.models.t5.modeling_t5")
    config = t5.T5Config(d_model=H * D, d_kv=D, num_heads=H, is_decoder=not bidirectional)
    attention = t5.T5Attention(config, has_relative_attention_bias=True)
    other = oracle("x_transformers.x_transformers").RelativePositionBias(1.0, causal=not bidirectional, heads=H)
    method = T5Bias(H, bidirectional=bidirectional)
    with torch.no_grad():
        for weights in (
            method.weights["biases"],
            attention.relative_attention_bias.weight,
            other.relative_attention_bias.weight,
        ):
            weights.copy_(random(32, H))
        bias = method.bias(random(B, H, S, D), num_keys=S)
        near(bias, attention.compute_bias(S, S))
        near(bias[0], other(S, S))
        near(method.bias(random(B, H, 1, D), num_keys=S, offset=S - 1)[0], other(1, S))


@pytest.mark.parametrize("bidirectional", [True, False])
def test_t5s_buckets_are_those_of_the_formula(bidirectional):
    method = T5Bias(H, bidirectional=bidirectional)
    # 16 and 32: their logarithm stands at the edge of a bucket, where T5's float32 decides
    far = [d for d in range(-S, S) if abs(d) not in (16, 32, 64)]
    expected = [reference.t5_bucket(d, bidirectional=bidirectional) for d in far]
    assert method.buckets(torch.tensor(far)).tolist() == expected


def test_xpos_scores_are_those_of_x_transformers(oracle):
    other = oracle("x_transformers.x_transformers")
    frequencies, scale = other.RotaryEmbedding(D, use_xpos=True).forward_from_seq_len(S)
    q, k = random(B, H, S, D), random(B, H, S, D, seed=4)
    expected = other.apply_rotary_pos_emb(q, frequencies, scale) @ other.apply_rotary_pos_emb(
        k, frequencies, scale**-1
    ).transpose(-1, -2)
    qk = torch.stack((q, k))
    XPos(D, frequencies=FREQUENCIES).rotate_(qk)
    near(qk[0] @ qk[1].transpose(-1, -2), expected, 1e-4)  # they rotate in float32


@pytest.mark.parametrize("layout", ["interleaved", "half"])
def test_xpos_scores_depend_on_distances_only_and_explicit_positions_are_those_of_an_offset(layout):
    method, qk = XPos(D, frequencies=FREQUENCIES, layout=layout), random(2, B, H, T, D, dtype=torch.float64)

    def scores(**where: object) -> Tensor:
        q, k = method.rotate(qk, **where)
        return q @ k.transpose(-1, -2)

    near(scores(offset=900), scores(), 1e-5)
    positions = torch.tensor([[0.0, 1.0, 2.0, 3.0, 4.0], [7.5, 8.5, 9.5, 10.5, 11.5]])
    near(scores(positions=positions), scores(), 1e-5)


def test_xpos_scores_decay_in_expectation():
    method = XPos(64, frequencies=FREQUENCIES)
    ones = torch.ones(2, 1, 1, 2000, 64)
    q, k = method.rotate(ones)
    bound = (q[0, 0, -1].view(32, 2).norm(dim=-1) * k[0, 0].view(-1, 32, 2).norm(dim=-1)).sum(dim=-1)
    assert (bound.diff() > 0).all(), "a key nearer to the last query can score higher"


def attention(method: PositionMethod, dtype: torch.dtype = torch.float32) -> SelfAttention:
    torch.manual_seed(1)
    module = SelfAttention(H * D, H, position_method=method)
    weights = module.position_method.weights
    for weight in weights.values() if weights is not None else ():
        torch.nn.init.normal_(weight)
    return module.to(dtype).eval()


METHODS = {
    "xpos": lambda: XPos(D, frequencies=FREQUENCIES),
    "alibi": lambda: ALiBi(H),
    "t5": lambda: T5Bias(H, bidirectional=False),
    "shaw": lambda: Shaw(D),
}
METHOD = pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)


@METHOD
@torch.no_grad()
def test_a_token_of_a_search_far_out_is_that_of_the_full_pass(method):
    module, x = attention(method()), random(200, B, H * D)
    causal = torch.ones(200, 200).triu(1).bool()
    full, _ = module(x, x, x, attn_mask=causal, need_weights=False)
    state: dict = {}
    steps = torch.cat([module(x[t : t + 1], None, None, incremental_state=state)[0] for t in range(200)])
    near(steps, full)


@METHOD
def test_gradients_of_all_weights_are_right(method):
    module, x = attention(method(), torch.float64), random(4, 1, H * D, dtype=torch.float64).requires_grad_()
    causal = torch.ones(4, 4).triu(1).bool()
    parameters = [x, *module.parameters()]
    assert torch.autograd.gradcheck(lambda *_: module(x, x, x, attn_mask=causal)[0], parameters, fast_mode=True)


def test_each_layer_has_its_own_vectors_of_shaw_and_a_stack_one_table_of_t5():
    shaw, t5 = Shaw(D), T5Bias(H, bidirectional=True)
    first, second = (SelfAttention(H * D, H, position_method=shaw) for _ in range(2))
    names = {name for name, _ in first.named_parameters() if "position" in name}
    assert names == {"position_weights.relative_keys", "position_weights.relative_values"}
    assert first.position_method is not second.position_method
    assert not [
        name for name, _ in SelfAttention(H * D, H, position_method=t5).named_parameters() if "position" in name
    ]
