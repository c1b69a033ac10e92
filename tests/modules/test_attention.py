"""Rotary attention: fairseq's own attention once rotation is off; caches, masks, dropout and types with it on."""

import copy
import pickle

import pytest
import torch
from fairseq.modules import MultiheadAttention
from torch import Tensor

from fairseq_rope.models._options import rotary_embedding
from fairseq_rope.modules import attention_core
from fairseq_rope.modules.attention import SelfAttention
from fairseq_rope.modules.cpu import accelerate, packing, route
from fairseq_rope.modules.cpu.dropout import Dropout
from fairseq_rope.modules.cpu.thresholds import MIN_TOKENS_TO_JOIN
from fairseq_rope.modules.positions.base import PositionMethod
from tests.support.models import SMALL, build_model
from tests.support.near import AUTOCAST, SAME, near

T, B, H, D = 7, 4, 3, 6
E = H * D
DROPOUT_MEAN = 0.2  # mean error of an average over 400 draws; without its rescaling it would be above 1
PADDING = torch.arange(T) >= torch.tensor([T, T - 1, 4, 1])[:, None]
CAUSAL = torch.ones(T, T).triu(1).bool()
MASKS = {
    "no mask": {},
    "causal, added": dict(attn_mask=torch.zeros(T, T).masked_fill(CAUSAL, float("-inf"))),
    "causal, true where hidden": dict(attn_mask=CAUSAL),
    "padding": dict(key_padding_mask=PADDING),
    "both": dict(attn_mask=torch.zeros(T, T).masked_fill(CAUSAL, float("-inf")), key_padding_mask=PADDING),
    "both, true where hidden": dict(attn_mask=CAUSAL, key_padding_mask=PADDING),
}
MASK = pytest.mark.parametrize("masks", MASKS.values(), ids=MASKS)


def make(position_method: PositionMethod | None = None, **options: float) -> SelfAttention:
    torch.manual_seed(1)
    method = position_method or rotary_embedding(D, base=100.0, fraction=1.0, layout="interleaved")
    attention = SelfAttention(E, H, position_method=method, **options).eval()
    for parameter in attention.parameters():  # biases start at 0, which would hide mistakes
        torch.nn.init.normal_(parameter, std=0.4)
    return attention


def inputs(dtype: torch.dtype = torch.float32, seed: int = 2) -> Tensor:
    return torch.randn(T, B, E, generator=torch.Generator().manual_seed(seed)).to(dtype)


def attend(attention: MultiheadAttention, x: Tensor, **options) -> tuple[Tensor, Tensor | None]:
    return attention(x, x, x, **options)


def in_steps(attention: SelfAttention, x: Tensor, sizes: list[int], padding: Tensor | None = None) -> Tensor:
    """Attend causally in chunks of `sizes` tokens; chunks without padding pass no mask, as fairseq does."""
    state, outputs, start = {}, [], 0
    for size in sizes:
        end = start + size
        part = None if padding is None or not padding[:, start:end].any() else padding[:, start:end]
        options = dict(key_padding_mask=part, attn_mask=CAUSAL[start:end, :end], incremental_state=state)
        outputs.append(attend(attention, x[start:end], **options)[0])
        start = end
    return torch.cat(outputs)


def gradients(attention: MultiheadAttention, x: Tensor, **options) -> list[Tensor]:
    x = x.clone().requires_grad_()
    attend(attention, x, **options)[0].pow(2).sum().backward()
    return [x.grad, *(parameter.grad for _, parameter in sorted(attention.named_parameters()))]


@MASK
def test_without_positions_it_is_fairseqs_attention(masks):
    ours = make(PositionMethod())
    stock = MultiheadAttention(E, H, self_attention=True).eval()
    stock.load_state_dict(ours.state_dict(), strict=True)
    # gradients are up to 600, so that in float32 rounding alone makes them differ by 3e-4
    ours.double(), stock.double()
    x = inputs(torch.float64)
    masks = {name: mask.double() if mask.is_floating_point() else mask for name, mask in masks.items()}
    for options in (dict(need_weights=True), dict(need_weights=False)):
        near(attend(ours, x, **masks, **options)[0], attend(stock, x, **masks, **options)[0])
        actual, expected = (gradients(a, x, **masks, **options) for a in (ours, stock))
        for ours_grad, stock_grad in zip(actual, expected, strict=True):
            near(ours_grad, stock_grad)
        ours.zero_grad(), stock.zero_grad()
    near(attend(ours, x, **masks)[1], attend(stock, x, **masks)[1])


@pytest.mark.parametrize("padded", [False, True], ids=["no padding", "padding"])
def test_without_positions_steps_and_head_weights_are_fairseqs(padded):
    ours = make(PositionMethod())
    stock = MultiheadAttention(E, H, self_attention=True).eval()
    stock.load_state_dict(ours.state_dict(), strict=True)
    states = {}, {}
    for t, x in enumerate(inputs()):
        padding = PADDING[:, t : t + 1] if padded and PADDING[:, t].any() else None
        options = dict(key_padding_mask=padding, need_head_weights=True)
        actual, expected = (
            attend(attention, x[None], incremental_state=state, **options)
            for attention, state in zip((ours, stock), states, strict=True)
        )
        near(actual[0], expected[0])
        near(actual[1], expected[1])
        assert actual[1].shape == (H, B, 1, t + 1)


@MASK
def test_asking_for_weights_changes_nothing_but_the_weights(masks):
    attention, x = make(), inputs()
    fused, none = attend(attention, x, need_weights=False, **masks)
    output, weights = attend(attention, x, need_weights=True, **masks)
    assert none is None
    near(output, fused)
    assert weights.shape == (B, T, T)
    near(weights.sum(-1), torch.ones(B, T))
    near(attend(attention, x, need_head_weights=True, **masks)[1].mean(dim=0), weights)


@pytest.mark.parametrize("sizes", [[1] * T, [3, 4], [2, 1, 4], [T]], ids=str)
@pytest.mark.parametrize("padding", [None, PADDING, PADDING.flip(1)], ids=["no padding", "right", "left"])
def test_steps_of_any_size_equal_the_full_pass(sizes, padding):
    attention, x = make(), inputs()
    full, _ = attend(attention, x, attn_mask=CAUSAL, key_padding_mask=padding)
    shown = torch.ones(T, B).bool() if padding is None else ~padding.T
    near(in_steps(attention, x, sizes, padding)[shown], full[shown])


@pytest.mark.parametrize("order", [[3, 0, 0, 2], [2, 1], [0, 1, 2, 3, 3, 3]], ids=str)
@pytest.mark.parametrize("padding", [None, PADDING.flip(1)], ids=["no padding", "left"])
def test_the_batch_can_be_reordered_between_steps(order, padding):
    attention, x, state, order = make(), inputs(), {}, torch.tensor(order)
    hidden = torch.zeros(B, T).bool() if padding is None else padding
    for t in range(T - 1):
        attend(attention, x[t : t + 1], incremental_state=state, key_padding_mask=hidden[:, t : t + 1])
    # two orders without a step between them are one after the other
    attention.reorder_incremental_state(state, torch.arange(B).flip(0))
    attention.reorder_incremental_state(state, B - 1 - order)
    last, _ = attend(attention, x[-1:, order], incremental_state=state)
    full = attend(attention, x[:, order], attn_mask=CAUSAL, key_padding_mask=hidden[order])[0]
    near(last[0], full[-1])


def test_one_product_for_queries_keys_and_values_equals_three():
    attention, x, calls = make().double(), inputs(torch.float64), []
    accelerate(attention)
    forward = attention.q_proj.forward
    attention.q_proj.forward = lambda x: calls.append(1) or forward(x)  # no hook, with which weights are not joined
    many = x.repeat(1, 20, 1)  # enough tokens to join the weights
    near(attend(attention, many)[0], attend(attention, x)[0].repeat(1, 20, 1))
    assert len(calls) == 1  # of the few tokens
    once = [gradient.clone() for gradient in gradients(attention, x)[1:]]
    attention.zero_grad()
    for joined, separate in zip(gradients(attention, many)[1:], once, strict=True):
        near(joined, 20 * separate)


def register(attention: SelfAttention, kind: str, calls: list[int]) -> None:
    for layer in (attention.q_proj, attention.k_proj, attention.v_proj):
        getattr(layer, f"register_{kind}_hook")(lambda *_: calls.append(1))


@pytest.mark.parametrize("kind", ["forward_pre", "forward", "full_backward_pre", "full_backward"])
@pytest.mark.parametrize("length", [T, 64], ids=["few tokens", "as many as are joined"])
def test_hooks_of_queries_keys_and_values_are_called_however_many_tokens_there_are(length: int, kind: str):
    attention, calls = make(), []
    accelerate(attention)
    register(attention, kind, calls)
    x = torch.randn(length, B, E, requires_grad=True)
    assert length == T or length * B >= MIN_TOKENS_TO_JOIN
    attend(attention, x)[0].sum().backward()
    assert len(calls) == 3


@pytest.mark.parametrize("change", ["hook", "layer"])
def test_a_hook_or_layer_that_comes_after_weights_were_packed_counts(change: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(packing, "MIN_PACKED_WEIGHTS", 1)
    monkeypatch.setattr(route, "_chosen", dict.fromkeys(route.SHAPES, route.ONEDNN))
    attention, x = make(), inputs()
    accelerate(attention)
    attention.make_generation_fast_()
    with torch.no_grad():
        before = attend(attention, x)[0]
        if change == "hook":
            attention.q_proj.register_forward_hook(lambda _, __, y: 2 * y)
        else:
            attention.q_proj = copy.deepcopy(attention.q_proj)
            attention.q_proj.weight.mul_(2)
            attention.q_proj.bias.mul_(2)
        after = attend(attention, x)[0]
        attention.packed = None
        near(after, attend(attention, x)[0])
        assert not torch.allclose(before, after, atol=1e-2)


@MASK
def test_a_step_of_a_large_search_attends_without_the_fused_kernel_as_with_it(masks, monkeypatch: pytest.MonkeyPatch):
    attention, x = make(), inputs().repeat(1, 20, 1)
    masks = {name: mask.repeat(20, 1) if name == "key_padding_mask" else mask for name, mask in masks.items()}
    fused = attend(attention, x, need_weights=False, **masks)[0]
    monkeypatch.setattr(attention_core.F, "scaled_dot_product_attention", lambda *_, **__: pytest.fail("called"))
    with torch.no_grad():
        step, weights = attend(attention, x, need_weights=False, **masks)
    near(step, fused)
    assert weights is None


@pytest.mark.parametrize("need_weights", [False, True])
@pytest.mark.parametrize("dtype", SAME, ids=str)
def test_rows_that_see_no_key_are_finite_forward_and_backward(dtype, need_weights):
    attention = make().to(dtype)
    options = dict(attn_mask=CAUSAL, key_padding_mask=PADDING.flip(1), need_weights=need_weights)
    assert all(value is None or value.isfinite().all() for value in attend(attention, inputs(dtype), **options))
    assert all(gradient.isfinite().all() for gradient in gradients(attention, inputs(dtype), **options))


@pytest.mark.parametrize("need_weights", [False, True])
def test_dropout_is_on_in_training_off_in_evaluation_and_kept_on_request(need_weights):
    attention, x = make(dropout=0.5), inputs()

    def varies() -> bool:
        return not torch.equal(*(attend(attention, x, need_weights=need_weights)[0] for _ in range(2)))

    assert not varies()
    attention.train()
    assert varies()
    attention.eval()
    assert not varies()
    attention.dropout_module.make_generation_fast_("", retain_dropout=True)
    assert varies()
    average = sum(attend(attention, x, need_weights=need_weights)[0].detach() for _ in range(400)) / 400
    assert (average - attend(make(), x)[0]).abs().mean() < DROPOUT_MEAN


def test_probabilities_are_dropped_by_the_cheap_way_of_the_cpu():
    q, k, v = torch.randn(3, B, H, T, D, generator=torch.Generator().manual_seed(6))
    dropout = Dropout(0.3).train()
    torch.manual_seed(9)
    found, _ = attention_core.attend(
        q, k, v, attn_mask=None, key_padding_mask=None, dropout=dropout, need_weights=False
    )
    torch.manual_seed(9)
    near(found, dropout((q @ k.mT / D**0.5).softmax(dim=-1)) @ v)


@MASK
def test_bfloat16_autocast_is_near_float32(masks):
    attention, x = make(), inputs()
    for need_weights in (True, False):
        expected = attend(attention, x, need_weights=need_weights, **masks)
        with torch.autocast("cpu", torch.bfloat16):
            actual = attend(attention, x, need_weights=need_weights, **masks)
        near(actual[0].float(), expected[0], AUTOCAST)
        assert actual[0].dtype == torch.bfloat16


@pytest.mark.parametrize("need_weights", [False, True])
@MASK
def test_the_gradient_is_right(masks, need_weights):
    short = {name: mask[-2:, :4] if name == "key_padding_mask" else mask[:4, :4] for name, mask in masks.items()}
    attention, x = make().double(), inputs(torch.float64)[:4, -2:].requires_grad_()
    options = dict(need_weights=need_weights, **short)
    assert torch.autograd.gradcheck(lambda x: attend(attention, x, **options)[0], x, fast_mode=True)


MISUSES = {
    "static keys": lambda attention, x: attend(attention, x, static_kv=True),
    "scores": lambda attention, x: attend(attention, x, before_softmax=True),
    "other keys": lambda attention, x: attention(x, x.clone(), x),
    "other values": lambda attention, x: attention(x, x, x[:3]),
}


@pytest.mark.parametrize("use", MISUSES.values(), ids=MISUSES)
def test_a_use_that_has_no_meaning_is_refused(use):
    with pytest.raises(ValueError) as error:
        use(make(), inputs())
    assert str(error.value) == "self-attention with positions takes no other keys, static_kv or before_softmax"


@pytest.mark.parametrize("clone", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))], ids=["copy", "pickle"])
def test_copies_attend_as_the_original(clone):
    attention, x = make(), inputs()
    before = attend(attention, x)[0]
    assert torch.equal(attend(clone(attention), x)[0], before)


def test_the_layers_of_a_stack_share_one_position_method():
    model = build_model("transformer_rope", **SMALL)
    for stack in (model.encoder, model.decoder, copy.deepcopy(model.encoder)):
        assert {id(layer.self_attn.position_method) for layer in stack.layers} == {id(stack.position_method)}
