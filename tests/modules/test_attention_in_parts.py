"""Attention in parts: values and gradients of the formula, with dropout and without, and when it is taken."""

from typing import Any

import pytest
import torch
from fairseq.modules import FairseqDropout
from torch import Tensor

from fairseq_rope.modules import attention_core
from fairseq_rope.modules.attention_core import CAUSAL, attend
from fairseq_rope.modules.cpu import attention
from fairseq_rope.modules.cpu.attention import attend_in_parts
from fairseq_rope.modules.cpu.dropout import ALL, Dropout, draw_mask
from fairseq_rope.modules.cpu.thresholds import MAX_SHORT_LENGTH
from fairseq_rope.modules.padding import Padding
from tests.support.near import SAME, near

B, H, T, S, D = 5, 3, 6, 7, 8
KEPT = 45_000  # of 2^16


def qkv(*, queries: int = T, requires_grad: bool = True) -> list[Tensor]:
    sizes = (queries, S, S)
    # as they come from one projection: not contiguous
    inputs = [torch.randn(size, B, H, D, dtype=torch.float64).permute(1, 2, 0, 3) for size in sizes]
    return [x.requires_grad_(requires_grad) for x in inputs]


def reference(q: Tensor, k: Tensor, v: Tensor, bias: Tensor | None, kept: int) -> Tensor:
    """The formula, sentence by sentence, head by head and query by query, with the mask that is drawn first."""
    mask = draw_mask((B, H, q.size(2), S), kept) if kept < ALL else torch.ones(B, H, q.size(2), S)
    rows = []
    for b in range(B):
        for h in range(H):
            for t in range(q.size(2)):
                scores = torch.stack([(q[b, h, t] * k[b, h, s]).sum() / D**0.5 for s in range(S)])
                if bias is not None:
                    scores = scores + bias.broadcast_to(B, H, q.size(2), S)[b, h, t]
                probabilities = scores.exp() / scores.exp().sum() * mask[b, h, t] * 2**16 / kept
                rows.append(sum(probability * v[b, h, s] for s, probability in enumerate(probabilities)))
    return torch.stack(rows).view(B, H, q.size(2), D)


@pytest.mark.parametrize("shape", [None, (B, 1, 1, S), (1, 1, T, S), (1, H, T, S), (H, T, S)], ids=str)
@pytest.mark.parametrize("sentences", [1, 2, B], ids="parts of {}".format)
@pytest.mark.parametrize("kept", [KEPT, ALL], ids=["dropout", "all kept"])
def test_it_is_the_formula_and_so_are_its_gradients(
    monkeypatch: pytest.MonkeyPatch, shape: tuple[int, ...] | None, sentences: int, kept: int
):
    monkeypatch.setattr(attention, "MAX_SCORES", sentences * H * T * S)
    torch.manual_seed(1)
    inputs, factors = qkv(), torch.randn(B, H, T, D, dtype=torch.float64)
    bias = None if shape is None else torch.randn(shape, dtype=torch.float64)
    results = []
    for function in (reference, attend_in_parts):
        torch.manual_seed(2)
        found = function(*inputs, bias, kept)
        results.append((found, *torch.autograd.grad((found * factors).sum(), inputs)))
    for expected, found in zip(*results, strict=True):
        torch.testing.assert_close(found, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("mask", [None, CAUSAL, torch.ones(S, S, dtype=torch.bool).triu(1)], ids=["", "causal", "own"])
@pytest.mark.parametrize("is_padded", [False, True])
@pytest.mark.parametrize("p", [0.3, 0.0], ids="dropout {}".format)
def test_masks_of_attend_hide_the_same_keys(
    monkeypatch: pytest.MonkeyPatch, mask: Tensor | None, is_padded: bool, p: float
):
    hidden = torch.arange(S).expand(B, S) >= torch.tensor([[S], [2], [S], [5], [0]])
    padding = Padding(hidden) if is_padded else None
    inputs, results, taken = qkv(queries=S), [], []
    kept_in_parts = attention_core._kept_in_parts
    monkeypatch.setattr(
        attention_core, "_kept_in_parts", lambda *given: taken.append(kept_in_parts(*given)) or taken[-1]
    )
    # who asks for the probabilities gets all of them; the fused kernel has wrong gradients where no key is seen
    for need_weights in (False, True):
        torch.manual_seed(3)
        options: dict[str, Any] = {"attn_mask": mask, "key_padding_mask": padding, "need_weights": need_weights}
        found, _ = attend(*inputs, dropout=Dropout(p).train(), **options)
        results.append((found, *torch.autograd.grad(found.square().sum(), inputs)))
    assert taken == [round((1 - p) * ALL)]
    for expected, found in zip(*results, strict=True):
        torch.testing.assert_close(found, expected, rtol=1e-12, atol=1e-12)
        assert found.isfinite().all()


@pytest.mark.parametrize(("kept", "expected"), [(KEPT, [1, 4]), (ALL, [4])], ids=["dropout", "all kept"])
def test_of_each_score_five_bytes_are_kept_with_dropout_and_four_without(kept: int, expected: list[int]):
    inputs = [x.detach().float().requires_grad_() for x in qkv()]
    sizes: dict[int, int] = {}

    def pack(tensor: Tensor) -> Tensor:
        if tensor.numel() == B * H * T * S:
            sizes[tensor.data_ptr()] = tensor.element_size()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        attend_in_parts(*inputs, None, kept)
    assert sorted(sizes.values()) == expected


@pytest.mark.parametrize("sizes", [(0, H, T, S), (B, H, 0, S)], ids=["no sentence", "no query"])
def test_nothing_to_attend_gives_nothing(sizes: tuple[int, int, int, int]):
    batch, heads, queries, keys = sizes
    q = torch.randn(batch, heads, queries, D, requires_grad=True)
    k = torch.randn(batch, heads, keys, D, requires_grad=True)
    found = attend_in_parts(q, k, k, None, KEPT)
    found.sum().backward()
    assert found.shape == q.shape and q.grad is not None and k.grad is not None and not k.grad.any()


def test_a_bias_that_is_learned_gets_its_gradient():
    bias = torch.randn(1, H, T, S, requires_grad=True)
    q, k, v = (x.float() for x in qkv())
    options: dict[str, Any] = {"attn_mask": None, "key_padding_mask": None, "need_weights": False}
    found, _ = attend(q, k, v, dropout=Dropout(0.3).train(), position_bias=bias, **options)
    found.square().sum().backward()
    assert bias.grad is not None and bias.grad.abs().min() > 0


def test_under_autocast_and_with_fairseqs_dropout_it_is_torchs():
    inputs = [x.detach().float().requires_grad_() for x in qkv()]
    options: dict[str, Any] = {"attn_mask": None, "key_padding_mask": None, "need_weights": False}
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found, _ = attend(*inputs, dropout=Dropout(0.3).train(), **options)
    found.float().sum().backward()
    assert all(x.grad is not None and x.grad.isfinite().all() for x in inputs)
    attended, _ = attend(*inputs, dropout=FairseqDropout(0.3), **options)
    assert attended.isfinite().all()


@pytest.mark.parametrize(("length", "is_parts"), [(MAX_SHORT_LENGTH, True), (MAX_SHORT_LENGTH + 1, False)])
@pytest.mark.parametrize("is_training", [True, False], ids=["training", "evaluation"])
def test_without_dropout_short_sentences_go_in_parts_in_training(
    monkeypatch: pytest.MonkeyPatch, length: int, is_parts: bool, is_training: bool
):
    taken = []
    monkeypatch.setattr(attention_core, "attend_in_parts", lambda *given: taken.append(given) or given[0])
    options: dict[str, Any] = {"attn_mask": None, "key_padding_mask": None, "need_weights": False}
    for queries, keys in ((1, length), (length, 1)):
        q, k = (torch.randn(1, H, size, D, requires_grad=is_training) for size in (queries, keys))
        attend(q, k, k, dropout=Dropout(0.0), **options)
    assert len(taken) == 2 * (is_parts and is_training)


def test_under_autocast_short_sentences_are_the_fused_kernels(monkeypatch: pytest.MonkeyPatch):
    inputs = [torch.randn(B, H, S, D, requires_grad=True) for _ in range(3)]
    options: dict[str, Any] = {"attn_mask": CAUSAL, "key_padding_mask": None, "need_weights": False}
    found, _ = attend(*inputs, dropout=Dropout(0.0), **options)
    monkeypatch.setattr(attention_core, "attend_in_parts", None)  # it must not be called
    with torch.autocast("cpu", dtype=torch.bfloat16):
        halved, _ = attend(*inputs, dropout=Dropout(0.0), **options)
    near(halved.float(), found, SAME[torch.bfloat16])
