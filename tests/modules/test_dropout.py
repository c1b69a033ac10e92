"""Dropout by 16 random bits: rate, scale, gradient, seeds, and where it is off."""

import pytest
import torch
from torch import Tensor

from fairseq_rope.modules.cpu.dropout import Dropout


def drop(p: float, x: Tensor, *, training: bool = True) -> Tensor:
    return Dropout(p).train(training)(x)


@pytest.mark.parametrize("p", [5e-6, 1e-4, 0.1, 0.3, 0.5, 0.9, 0.9999])
def test_elements_are_dropped_at_the_rate_and_the_mean_is_kept(p: float):
    torch.manual_seed(1)
    n = 1_000_003
    y = drop(p, torch.ones(n))
    dropped = y.eq(0).float().mean()
    assert abs(dropped - p) < 5 * (p * (1 - p) / n) ** 0.5
    assert abs(y.mean(dtype=torch.float64) - 1) < 5 * (p / (1 - p) / n) ** 0.5
    assert len(y.unique()) == 2
    # neighbors are dropped independently, also those that share a random number
    for distance in (1, 2, 3, 4):
        both = (y[:-distance].eq(0) & y[distance:].eq(0)).float().mean()
        assert abs(both - p * p) < 5 * (p * p / n) ** 0.5 + 2 / n


@pytest.mark.parametrize("p", [2e-7, 5e-6, 7.7e-6, 1e-4, 0.0076, 0.0077, 0.2, 0.9923, 0.9924, 1 - 1e-4])
def test_the_rate_is_rounded_by_less_than_a_thousandth_of_the_rarer_outcome(p: float):
    # what is kept is scaled by the inverse of the rate at which it is
    kept = drop(p, torch.ones(100_000, dtype=torch.float64)).max()
    assert abs(1 / kept - (1 - p)) < 1e-3 * min(p, 1 - p)


@pytest.mark.parametrize("p", [1.5, 30.0])
def test_what_is_no_probability_ends_in_an_error(p: float):
    with pytest.raises(ValueError, match="dropout probability has to be between 0 and 1"):
        drop(p, torch.ones(5))


def test_the_gradient_goes_where_the_value_went():
    x = torch.randn(11, 13, dtype=torch.float64, requires_grad=True)
    y = drop(0.4, x)
    y.sum().backward()
    torch.testing.assert_close(x.grad, y.detach() / x.detach())
    assert 0 < x.grad.eq(0).sum() < x.numel()


def test_a_seed_gives_the_same_mask_and_another_another():
    x, masks = torch.ones(1000), []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        masks.append(drop(0.5, x))
    assert torch.equal(masks[0], masks[1]) and not torch.equal(masks[0], masks[2])


def test_a_default_device_of_the_process_is_none_of_its_business():
    x = torch.ones(11, 13)
    with torch.device("meta"):
        y = drop(0.4, x)
    assert y.device == x.device and 0 < y.eq(0).sum() < y.numel()


@pytest.mark.parametrize(("p", "training"), [(0.5, False), (0.0, True)], ids=["evaluation", "p = 0"])
def test_it_is_off(p: float, training: bool):
    x = torch.randn(10)
    assert torch.equal(drop(p, x, training=training), x)


def test_it_is_kept_in_inference_on_request_and_everything_may_be_dropped():
    module = Dropout(0.5, module_name="Name").eval()
    module.make_generation_fast_("model", retain_dropout=True, retain_dropout_modules=["Name"])
    assert module(torch.ones(1000)).eq(0).any()
    assert drop(1.0, torch.ones(10)).eq(0).all()


@pytest.mark.parametrize(
    "x",
    [torch.ones(6, 5).T, torch.ones(0, 3), torch.ones(7, dtype=torch.bfloat16)],
    ids=["transposed", "empty", "bfloat16"],
)
def test_any_shape_and_type_is_taken(x: Tensor):
    y = drop(0.5, x)
    assert y.shape == x.shape and y.dtype == x.dtype
