"""Which kernel attends, on a GPU and in half precision on the CPU."""

from collections.abc import Iterator
from threading import Event, Thread
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from fairseq.modules import FairseqDropout
from torch import Tensor

from fairseq_rope.modules.attention_core import CAUSAL, _fast_kernels, attend


def enabled() -> tuple[bool, bool]:
    return torch.backends.cuda.cudnn_sdp_enabled(), torch.backends.cuda.flash_sdp_enabled()


@pytest.fixture(params=[(True, True), (False, False)])
def chosen(request: pytest.FixtureRequest) -> Iterator[tuple[bool, bool]]:
    """What a user has chosen: whether cuDNN and FlashAttention may be used."""
    before = enabled()
    torch.backends.cuda.enable_cudnn_sdp(request.param[0])
    torch.backends.cuda.enable_flash_sdp(request.param[1])
    yield request.param
    torch.backends.cuda.enable_cudnn_sdp(before[0])
    torch.backends.cuda.enable_flash_sdp(before[1])


@pytest.mark.parametrize(("length", "head_dim", "flash"), [(30, 8, False), (300, 8, True), (30, 12, True)])
def test_slow_kernels_of_a_gpu_are_left_out_and_the_users_choice_stays(
    monkeypatch: pytest.MonkeyPatch, chosen: tuple[bool, bool], length: int, head_dim: int, flash: bool
):
    # a device without numbers stands in for a GPU
    product, seen = F.scaled_dot_product_attention, []

    def looked_at(*args: Any, **kwargs: Any) -> Tensor:
        seen.append(enabled())
        return product(*args, **kwargs)

    monkeypatch.setattr(F, "scaled_dot_product_attention", looked_at)
    q = torch.empty(2, 3, length, head_dim, device="meta")
    attend(q, q, q, attn_mask=None, key_padding_mask=None, dropout=FairseqDropout(0.0), need_weights=False)
    assert enabled() == chosen
    assert seen == [(False, flash and chosen[1])]


def test_threads_leave_the_kernels_as_they_were(chosen: tuple[bool, bool]):
    q, inside, left = torch.zeros(1, 1, 30, 8), Event(), Event()

    def attend_longer() -> None:
        with _fast_kernels(q, q):
            inside.set()
            left.wait()

    other = Thread(target=attend_longer)
    with _fast_kernels(q, q):
        other.start()
        inside.wait(0.2)  # a thread that waits for this one is not inside before
    left.set()
    other.join()
    assert enabled() == chosen


@pytest.mark.parametrize("dropout", [0.0, 0.5])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
def test_half_precision_attends_in_float32_on_the_cpu(dtype: torch.dtype, dropout: float):
    def attended(*qkv: Tensor) -> tuple[Tensor, ...]:
        torch.manual_seed(1)
        inputs = [x.clone().requires_grad_() for x in qkv]
        options: dict[str, Any] = {"attn_mask": CAUSAL, "key_padding_mask": None, "dropout": FairseqDropout(dropout)}
        outputs = [attend(*inputs, **options, need_weights=need_weights) for need_weights in (False, True)]
        result = outputs[0][0], *outputs[1]
        sum((x.float() * factor).sum() for x, factor in zip(result, factors, strict=True)).backward()
        return *result, *(x.grad for x in inputs)

    torch.manual_seed(2)
    qkv = torch.randn(3, 2, 3, 7, 8).to(dtype).unbind()
    factors = torch.randn_like(qkv[0]), torch.randn_like(qkv[0]), torch.randn(2, 3, 7, 7)
    found = attended(*qkv)
    expected = attended(*(x.float() for x in qkv))
    assert all(x.dtype == dtype for x in found)
    for half, full in zip(found[:3], expected[:3], strict=True):
        assert torch.equal(half, full.to(dtype))
    for half, full in zip(found[3:], expected[3:], strict=True):
        atol = 4 * torch.finfo(dtype).eps * float(full.abs().max())
        torch.testing.assert_close(half, full, check_dtype=False, atol=atol, rtol=0)
