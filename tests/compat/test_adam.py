"""The fused kernel and fairseq's own loop are the same optimizer."""

import copy
import inspect
from typing import Any

import pytest
import torch
from fairseq.optim.adam import Adam
from torch import Tensor

from fairseq_rope.compat import adam
from tests.support.near import near

SHAPES = ((7, 33), (5,), (1, 1), (64, 48))
OPTIONS = {"lr": 1e-2, "betas": (0.9, 0.98), "weight_decay": 0.1}


def make(**options: Any) -> Adam:
    generator = torch.Generator().manual_seed(1)
    weights = [torch.nn.Parameter(torch.randn(shape, generator=generator)) for shape in SHAPES]
    return Adam(weights, **{**OPTIONS, **options})


def weights_of(optimizer: Adam) -> list[Tensor]:
    return list(optimizer.param_groups[0]["params"])


def give_gradients(optimizer: Adam, step: int) -> None:
    generator = torch.Generator().manual_seed(step)
    for index, weight in enumerate(weights_of(optimizer)):
        # as with layer drop: each but the first has none in some steps
        weight.grad = None if index and step % (index + 1) == 0 else torch.randn(weight.shape, generator=generator)


def by_fairseq(optimizer: Adam) -> None:
    original: Any = inspect.unwrap(Adam.step)
    original(optimizer)


def assert_same_state(actual: Adam, expected: Adam) -> None:
    for mine, theirs in zip(weights_of(actual), weights_of(expected), strict=True):
        near(mine, theirs)
        assert actual.state[mine].keys() == expected.state[theirs].keys() == {"step", "exp_avg", "exp_avg_sq"}
        assert actual.state[mine]["step"] == expected.state[theirs]["step"]
        assert type(actual.state[mine]["step"]) is int
        for moment in ("exp_avg", "exp_avg_sq"):
            near(actual.state[mine][moment], expected.state[theirs][moment])


@pytest.fixture
def fused(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return the numbers of the steps that the kernel has computed so far."""
    numbers: list[int] = []
    update = adam._update

    def counted(weights: list[Tensor], states: list[Any], number: int, group: dict[str, Any]) -> None:
        numbers.append(number)
        update(weights, states, number, group)

    monkeypatch.setattr(adam, "_update", counted)
    return numbers


@pytest.mark.parametrize("eps", [1e-8, 0.1])
def test_it_is_fairseqs_adam(eps: float, fused: list[int]):
    mine, theirs = make(eps=eps), make(eps=eps)
    for step in range(1, 13):
        for optimizer in (mine, theirs):
            give_gradients(optimizer, step)
        mine.step()
        by_fairseq(theirs)
    assert_same_state(mine, theirs)
    assert len(fused) > 12 and set(fused) == set(range(1, 13))


def test_it_goes_on_from_fairseqs_state(fused: list[int]):
    theirs = make()
    for step in (1, 2, 3):
        give_gradients(theirs, step)
        by_fairseq(theirs)
    mine = make()
    for weight, other in zip(weights_of(mine), weights_of(theirs), strict=True):
        weight.data.copy_(other.data)
    mine.load_state_dict(copy.deepcopy(theirs.state_dict()))
    for optimizer in (mine, theirs):
        give_gradients(optimizer, 5)
    mine.step()
    by_fairseq(theirs)
    assert_same_state(mine, theirs)
    assert fused


def test_moments_that_lie_in_another_order_in_memory_are_those_of_their_weights(fused: list[int]):
    mine, theirs = make(), make()
    for optimizer in (mine, theirs):
        give_gradients(optimizer, 1)
        by_fairseq(optimizer)
        give_gradients(optimizer, 5)
    state = mine.state[weights_of(mine)[0]]
    for moment in ("exp_avg", "exp_avg_sq"):  # as after a training with a transposed weight
        state[moment] = state[moment].T.contiguous().T
    mine.step()
    by_fairseq(theirs)
    assert_same_state(mine, theirs)
    assert fused


@pytest.mark.parametrize("moment", ["exp_avg", "exp_avg_sq"])
@pytest.mark.parametrize("shape", [(14, 33), (33, 7)], ids=str)
def test_moments_of_another_shape_are_an_error_and_never_reach_the_kernel(
    shape: tuple[int, ...], moment: str, fused: list[int]
):
    optimizer = make()
    give_gradients(optimizer, 1)
    by_fairseq(optimizer)
    optimizer.state[weights_of(optimizer)[0]][moment] = torch.zeros(shape)
    message = rf"{moment} of the optimizer's state must be \(7, 33\), as its weight, but is \({shape[0]}, {shape[1]}\)"
    with pytest.raises(ValueError, match=message):
        optimizer.step()
    assert not fused


def as_bfloat16(weight: Tensor) -> None:
    weight.data = weight.data.bfloat16()
    weight.grad = torch.ones_like(weight)


def transposed(weight: Tensor) -> None:
    weight.grad = torch.ones(weight.shape[::-1]).T


@pytest.mark.parametrize("change", [as_bfloat16, transposed])
def test_others_are_left_to_fairseq(change: Any, fused: list[int]):
    mine, theirs = make(), make()
    for optimizer in (mine, theirs):
        give_gradients(optimizer, 1)
        change(weights_of(optimizer)[0])
    mine.step()
    by_fairseq(theirs)
    assert_same_state(mine, theirs)
    assert not fused


def test_a_second_moment_that_never_grows_is_left_to_fairseq(fused: list[int]):
    mine, theirs = make(betas=(0.9, 1.0)), make(betas=(0.9, 1.0))
    for optimizer in (mine, theirs):
        give_gradients(optimizer, 1)
    mine.step()
    by_fairseq(theirs)
    assert_same_state(mine, theirs)
    assert not fused


def test_sparse_gradients_have_fairseqs_error():
    optimizer = make()
    weights_of(optimizer)[0].grad = torch.ones(SHAPES[0]).to_sparse()
    with pytest.raises(RuntimeError, match="Adam does not support sparse gradients"):
        optimizer.step()


def not_for_cpus(*_: Any, **__: Any) -> None:
    raise NotImplementedError("Could not run 'aten::_fused_adamw_' with arguments from the 'CPU' backend.")


def with_other_arguments(weights: list[Tensor]) -> None:
    """Do nothing; a call with what we give is a TypeError."""


def with_other_numbers(weights: list[Tensor], *_: Any, **__: Any) -> None:
    for weight in weights:
        weight -= 1


@pytest.mark.parametrize("kernel", [None, not_for_cpus, with_other_arguments, with_other_numbers])
def test_a_torch_without_the_kernel_keeps_fairseqs_loop_and_says_so(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, kernel: Any
):
    if kernel is None:
        monkeypatch.delattr(torch, "_fused_adamw_")
    else:
        monkeypatch.setattr(torch, "_fused_adamw_", kernel)
    adam.has_kernel.cache_clear()
    try:
        mine, theirs = make(), make()
        with caplog.at_level("INFO"):
            for step in (1, 2):
                for optimizer in (mine, theirs):
                    give_gradients(optimizer, step)
                mine.step()
                by_fairseq(theirs)
        assert all(torch.equal(a, b) for a, b in zip(weights_of(mine), weights_of(theirs), strict=True))
        expected = f"torch {torch.__version__} has no fused Adam for cpu: fairseq's loop is used"
        assert [record.getMessage() for record in caplog.records].count(expected) == 1
    finally:
        adam.has_kernel.cache_clear()
