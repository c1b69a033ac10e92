"""The loss of masked language models: fairseq's numbers and gradients."""

import inspect
from typing import Any

import pytest
import torch
from fairseq import modules
from torch import Tensor

from fairseq_rope.modules.cpu import cross_entropy
from tests.support.near import near

N, V, PAD = 7, 33, 1
fairseqs: Any = inspect.unwrap(modules.cross_entropy)


@pytest.fixture
def ours(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Return for each loss so far whether it was computed in our way."""
    answers: list[bool] = []
    answer = cross_entropy._is_for_training
    monkeypatch.setattr(cross_entropy, "_is_for_training", lambda *args: answers.append(answer(*args)) or answers[-1])
    return answers


def batch(dtype: torch.dtype, *, scale: float = 1.0) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(1)
    logits = (scale * torch.randn(N, V, generator=generator, dtype=torch.float64)).to(dtype)
    return logits.requires_grad_(), torch.randint(2, V, (N,), generator=generator)


def loss_and_grad(function: Any, logits: Tensor, target: Tensor, factor: float = 1.0) -> tuple[Tensor, Tensor]:
    loss = function(logits, target, reduction="sum", ignore_index=PAD)
    (grad,) = torch.autograd.grad(factor * loss, logits)
    return loss.detach(), grad


@pytest.mark.parametrize("scale", [1.0, 30.0, 1e4])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.float16])
def test_loss_and_gradient_are_fairseqs(ours: list[bool], dtype: torch.dtype, scale: float):
    logits, target = batch(dtype, scale=scale)
    expected_loss, expected_grad = loss_and_grad(fairseqs, logits, target)
    loss, grad = loss_and_grad(modules.cross_entropy, logits, target)
    assert ours == [True]
    assert loss.dtype == expected_loss.dtype == torch.float32
    torch.testing.assert_close(loss, expected_loss, rtol=1e-6, atol=1e-5)
    assert grad.dtype == dtype
    near(grad.float(), expected_grad.float(), {torch.bfloat16: 2**-8, torch.float16: 2**-11}.get(dtype, 1e-6))


@pytest.mark.parametrize("ignored", [[0], [2, 6], list(range(N))])
def test_padding_has_neither_loss_nor_gradient(ours: list[bool], ignored: list[int]):
    logits, target = batch(torch.float32)
    target[ignored] = PAD
    expected_loss, expected_grad = loss_and_grad(fairseqs, logits, target)
    loss, grad = loss_and_grad(modules.cross_entropy, logits, target)
    assert ours == [True]
    near(loss, expected_loss)
    near(grad, expected_grad)
    assert not grad[ignored].any()


def test_fairseqs_default_ignores_an_index_that_is_no_word():
    logits, target = batch(torch.float32)
    target[3] = -100
    near(modules.cross_entropy(logits, target, reduction="sum"), fairseqs(logits, target, reduction="sum"))


def test_a_factor_of_the_loss_is_one_of_its_gradient():
    logits, target = batch(torch.float32)
    _, expected = loss_and_grad(fairseqs, logits, target, factor=2.5)
    near(loss_and_grad(modules.cross_entropy, logits, target, factor=2.5)[1], expected)


def test_the_gradient_can_be_taken_twice():
    logits, target = batch(torch.float32)
    loss = modules.cross_entropy(logits, target, reduction="sum", ignore_index=PAD)
    loss.backward(retain_graph=True)
    once = logits.grad.clone()
    loss.backward()
    near(logits.grad, 2 * once)


def test_a_word_that_is_as_good_as_impossible_has_its_loss():
    logits, target = batch(torch.float32)
    with torch.no_grad():
        logits[0, target[0]] = -1e6
    loss, grad = loss_and_grad(modules.cross_entropy, logits, target)
    near(loss, loss_and_grad(fairseqs, logits, target)[0], tolerance=0.1)
    assert grad[0, target[0]] == -1


@pytest.mark.parametrize("reduction", ["mean", "none"])
def test_other_reductions_are_fairseqs_own(ours: list[bool], reduction: str):
    logits, target = batch(torch.float32)
    found = modules.cross_entropy(logits, target, reduction=reduction)
    assert torch.equal(found, fairseqs(logits, target, reduction=reduction))
    assert ours == [False]


def test_where_nothing_is_trained_it_is_fairseqs_own(ours: list[bool]):
    logits, target = batch(torch.float32)
    with torch.no_grad():
        modules.cross_entropy(logits, target, reduction="sum")
    modules.cross_entropy(logits.detach(), target, reduction="sum")
    assert ours == [False, False]


def test_one_token_without_a_batch_is_fairseqs_own(ours: list[bool]):
    logits, target = (x[0] for x in batch(torch.float32))
    found = modules.cross_entropy(logits, target, reduction="sum")
    assert torch.equal(found, fairseqs(logits, target, reduction="sum"))
    assert ours == [False]
