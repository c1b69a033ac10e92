"""What a step spends its time on, from what torch's profiler counts."""

import time
from types import SimpleNamespace

import pytest
import torch
from torch.autograd import DeviceType

from benchmarks.model.profile import PARTS, part_of, seconds_of_parts


def test_the_time_of_products_and_of_python_is_found_where_it_is_spent():
    weight = torch.randn(400, 400, requires_grad=True)
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profiler:
        start = time.perf_counter()
        for _ in range(20):
            (weight @ weight).sum().backward()
        time.sleep(0.2)
        seconds = time.perf_counter() - start
    parts = seconds_of_parts(profiler.key_averages(), seconds, device="cpu")
    assert tuple(parts) == PARTS and sum(parts.values()) == pytest.approx(seconds)
    assert 0.2 <= parts["host"] < seconds - parts["products"] and parts["products"] > parts["other"]


def test_a_kernel_of_a_gpu_counts_once_and_the_rest_of_the_time_is_the_hosts():
    def event(key: str, microseconds: int, kind: DeviceType = DeviceType.CPU) -> SimpleNamespace:
        return SimpleNamespace(
            key=key, device_type=kind, self_device_time_total=microseconds, self_cpu_time_total=10**6
        )

    events = [
        event("aten::addmm", 300_000),
        event("aten::_flash_attention_backward", 100_000),
        event("aten::copy_", 50_000),
        event("AddmmBackward0", 0),
        event("forward", 0),
        event("cutlass::mm", 300_000, DeviceType.CUDA),
    ]
    parts = seconds_of_parts(events, 1.0, device="cuda")
    found = {part: seconds for part, seconds in parts.items() if seconds}
    assert found == pytest.approx({"products": 0.3, "attention": 0.1, "copies": 0.05, "host": 0.55})


@pytest.mark.parametrize(
    ("operation", "part"),
    [
        *[(name, "products") for name in ("mm", "addmm", "mkldnn_linear", "_linear_pointwise")],
        *[(name, "attention") for name in ("_scaled_dot_product_flash_attention_for_cpu", "bmm", "baddbmm")],
        ("_efficient_attention_forward", "attention"),
        *[(name, "layer norm") for name in ("native_layer_norm", "native_layer_norm_backward")],
        *[(name, "softmax, loss") for name in ("_softmax", "_log_softmax_backward_data", "exp_", "log", "gather")],
        *[(name, "random numbers") for name in ("bernoulli_", "native_dropout_backward", "random_")],
        *[(name, "copies") for name in ("copy_", "_to_copy", "cat", "masked_fill_", "embedding_dense_backward")],
        *[(name, "other") for name in ("add", "mul_", "sum", "expand", "logical_not", "_fused_adamw_", "relu")],
    ],
)
def test_operations_belong_to_parts_by_their_names(operation: str, part: str):
    assert part_of(operation) == part
