"""Updates of all weights at once give fairseq's numbers, in as many operations whatever the number of weights."""

import inspect
from typing import Any

import pytest
import torch
from fairseq import utils
from fairseq.dataclass.configs import CommonConfig, DistributedTrainingConfig, OptimizationConfig
from fairseq.optim.adam import FairseqAdamConfig
from fairseq.optim.fp16_optimizer import FP16Optimizer
from omegaconf import OmegaConf
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from tests.support.near import near

SHAPES = ((7, 33), (5,), (1, 1), (64, 48))
PATCHED = ("zero_grad", "_sync_fp16_grads_to_fp32", "_sync_fp32_params_to_fp16")


class Operations(TorchDispatchMode):
    """Counts what torch is asked to compute; views are no work."""

    def __init__(self):
        super().__init__()
        self.names: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None):
        if not func.is_view and func is not torch.ops.aten.detach.default:
            self.names.append(str(func))
        return func(*args, **(kwargs or {}))


def make(shapes: Any = SHAPES) -> FP16Optimizer:
    """Return fairseq's optimizer of --bf16, as its Trainer builds it."""
    generator = torch.Generator().manual_seed(1)
    weights = [torch.nn.Parameter(torch.randn(shape, generator=generator).bfloat16()) for shape in shapes]
    parts = {"common": CommonConfig(bf16=True), "optimization": OptimizationConfig(lr=[0.01])}
    parts |= {"optimizer": FairseqAdamConfig(lr=[0.01]), "distributed_training": DistributedTrainingConfig()}
    cfg = OmegaConf.create({name: OmegaConf.structured(part) for name, part in parts.items()})
    cfg.optimizer._name = "adam"
    return FP16Optimizer.build_optimizer(cfg, weights)


def step(optimizer: FP16Optimizer, number: int, *, without: int | None = None) -> Tensor:
    """Do what fairseq's Trainer does after a forward pass; weight `without` has no gradient. Return the norm."""
    generator = torch.Generator().manual_seed(number)
    optimizer.zero_grad()
    given = [weight for index, weight in enumerate(optimizer.fp16_params) if index != without]
    optimizer.backward(sum((weight * torch.randn(weight.shape, generator=generator)).sum() for weight in given))
    optimizer.multiply_grads(0.5)
    norm = optimizer.clip_grad_norm(1.0)
    optimizer.step()
    return norm


@pytest.fixture
def by_fairseq(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in PATCHED:
        monkeypatch.setattr(FP16Optimizer.__mro__[1], name, inspect.unwrap(getattr(FP16Optimizer, name)))
    monkeypatch.setattr(utils, "multi_tensor_l2norm_available", False)


@pytest.mark.parametrize("without", [None, 1])
def test_weights_and_norms_are_fairseqs(without: int | None, request: pytest.FixtureRequest):
    ours, theirs = make(), make()
    norms = [step(ours, number, without=without) for number in range(1, 6)]
    request.getfixturevalue("by_fairseq")
    for number, norm in enumerate(norms, start=1):
        near(norm, step(theirs, number, without=without))
    for name in ("fp16_params", "fp32_params"):
        for mine, other in zip(getattr(ours, name), getattr(theirs, name), strict=True):
            assert torch.equal(mine, other)
    assert not torch.equal(ours.fp16_params[0], make().fp16_params[0])


def test_no_operation_is_for_one_weight():
    counts = []
    for shapes in (SHAPES, SHAPES * 5):
        optimizer = make(shapes)
        step(optimizer, 1)  # which makes the state
        optimizer.backward(sum(weight.sum() for weight in optimizer.fp16_params))
        with Operations() as operations:
            optimizer.clip_grad_norm(1.0)
            optimizer.step()
            optimizer.zero_grad()
        # fairseq 0.12.2 scales each gradient by itself
        counts.append(len([name for name in operations.names if name != "aten.mul_.Tensor"]))
        # gradients once, weights once
        assert operations.names.count("aten._foreach_copy_.default") == 2
        assert not any(weight.grad.any() for weight in optimizer.fp32_params)
    assert counts[0] == counts[1], operations.names


def test_weights_that_are_frozen_keep_their_value():
    optimizer = make()
    frozen = optimizer.fp16_params[0]
    before = frozen.detach().clone()
    frozen.requires_grad_(False)
    optimizer.fp32_params[0].data.add_(1)  # as weight decay would
    optimizer.zero_grad()
    optimizer.backward(sum(weight.sum() for weight in optimizer.fp16_params[1:]))
    optimizer.clip_grad_norm(1.0)
    optimizer.step()
    assert torch.equal(frozen, before)
