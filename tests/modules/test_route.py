"""Which library computes products: the faster one by a clear margin, asked once, or what the user says."""

import logging
import threading
import time

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from fairseq_rope.modules.cpu import linear, onednn, route
from fairseq_rope.modules.projected_loss import projected_loss
from tests.support.near import PRODUCTS


@pytest.fixture(autouse=True)
def nothing_is_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(route, "_chosen", {})
    monkeypatch.delenv(route.VARIABLE, raising=False)


def slow(x: Tensor, weight: Tensor) -> Tensor:
    end = time.thread_time() + 0.002
    while time.thread_time() < end:
        pass
    return quick(x, weight)


def waiting(x: Tensor, weight: Tensor) -> Tensor:
    time.sleep(0.005)
    return quick(x, weight)


def quick(x: Tensor, weight: Tensor) -> Tensor:
    return x.new_empty(x.size(0), weight.size(0))


@pytest.mark.parametrize("work", route.SHAPES)
def test_onednn_is_taken_where_it_is_faster_and_what_was_chosen_is_logged(work: str, caplog: pytest.LogCaptureFixture):
    caplog.set_level(logging.INFO)
    assert route.is_onednn(work, torchs=slow, onednn=quick)
    assert route.is_onednn(work, torchs=quick, onednn=slow), "what was chosen holds"
    another = next(name for name in route.SHAPES if name != work)
    assert not route.is_onednn(another, torchs=quick, onednn=slow)
    one, other = (record.getMessage() for record in caplog.records)
    assert one.startswith(f"products of {work}: onednn (oneDNN is ") and " torch (oneDNN is 0." in other


@pytest.mark.parametrize(("gain", "chosen"), [(1.2, False), (1.3, True), (0.5, False)])
@pytest.mark.parametrize("work", [route.TRAINING, route.WEIGHT_GRADIENT, route.SEARCH, route.PACKED])
def test_a_small_gain_that_noise_can_turn_is_none(
    monkeypatch: pytest.MonkeyPatch, work: str, gain: float, chosen: bool
):
    monkeypatch.setattr(route, "gain", lambda *_, **__: gain)
    assert route.is_onednn(work, torchs=quick, onednn=quick) == chosen


@pytest.mark.parametrize(("gain", "chosen"), [(0.98, False), (1.02, True)])
@pytest.mark.parametrize("work", [route.FORWARD, route.INPUT_GRADIENT])
def test_a_small_gain_of_large_layers_counts(monkeypatch: pytest.MonkeyPatch, work: str, gain: float, chosen: bool):
    monkeypatch.setattr(route, "gain", lambda *_, **__: gain)
    assert route.is_onednn(work, torchs=quick, onednn=quick) == chosen


def test_the_time_in_which_others_have_the_processor_is_not_counted():
    assert not route.is_onednn(route.TRAINING, torchs=waiting, onednn=slow)
    assert route.is_onednn(route.SEARCH, torchs=slow, onednn=waiting)


def test_where_the_processors_time_is_counted_in_long_ticks_the_clock_on_the_wall_decides(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(route.time, "thread_time", lambda: time.perf_counter() // 1.0)
    assert route.is_onednn(route.TRAINING, torchs=waiting, onednn=quick)
    assert not route.is_onednn(route.SEARCH, torchs=quick, onednn=waiting)


@pytest.mark.parametrize(("value", "chosen"), [("torch", False), ("onednn", True), ("OneDNN", True)])
def test_the_users_choice_is_not_measured(monkeypatch: pytest.MonkeyPatch, value: str, chosen: bool):
    monkeypatch.setenv(route.VARIABLE, value)
    monkeypatch.setattr(route, "gain", lambda *_, **__: pytest.fail("measured"))
    assert route.is_onednn(route.TRAINING, torchs=quick, onednn=quick) == chosen


def test_another_value_is_named_and_measured(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture):
    monkeypatch.setenv(route.VARIABLE, "mkl")
    assert route.is_onednn(route.TRAINING, torchs=slow, onednn=quick)
    warnings = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert warnings == ["FAIRSEQ_ROPE_PRODUCTS must be torch, onednn or auto, but is 'mkl': it is measured"]


def test_threads_that_ask_at_once_wait_for_one_measurement(monkeypatch: pytest.MonkeyPatch):
    calls = []

    def gain(*_: object, **__: object) -> float:
        calls.append(1)
        time.sleep(0.05)
        return 2.0

    monkeypatch.setattr(route, "gain", gain)
    barrier, answers = threading.Barrier(8), []

    def ask() -> None:
        barrier.wait()
        answers.append(route.is_onednn(route.TRAINING, torchs=quick, onednn=quick))

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert calls == [1] and answers == [True] * 8


def test_products_of_the_processor_are_checked_and_measured_whatever_the_default_device():
    devices = set()

    def product(x: Tensor, weight: Tensor) -> Tensor:
        devices.update((x.device.type, weight.device.type))
        return quick(x, weight)

    with torch.device("meta"):
        assert onednn.is_usable() == onednn.IS_USABLE
        route.gain(route.TRAINING, torchs=product, onednn=product)
    assert devices == {"cpu"}


@pytest.mark.parametrize("work", [route.SEARCH, route.BFLOAT16])
def test_products_of_float32_are_measured_in_float32_under_autocast_too(work: str):
    dtypes = set()

    def product(x: Tensor, weight: Tensor) -> Tensor:
        y = F.linear(x, weight)
        dtypes.add(y.dtype)
        return y

    with torch.autocast("cpu", dtype=torch.bfloat16):
        route.gain(work, torchs=product, onednn=quick)
    assert dtypes == {torch.float32}


def test_measuring_changes_neither_random_numbers_nor_threads_nor_gradients():
    random, threads = torch.get_rng_state(), torch.get_num_threads()
    x = torch.ones(1, requires_grad=True)
    y = x * 2
    assert 0.01 < route.gain(route.TRAINING, torchs=F.linear, onednn=linear._product) < 100
    assert torch.equal(torch.get_rng_state(), random) and torch.get_num_threads() == threads
    assert torch.is_grad_enabled() and y.requires_grad


@pytest.mark.parametrize("chosen", [route.TORCH, route.ONEDNN])
def test_a_layer_computes_by_the_route(monkeypatch: pytest.MonkeyPatch, chosen: str):
    calls, product = [], onednn.product
    monkeypatch.setenv(route.VARIABLE, chosen)
    monkeypatch.setattr(onednn, "product", lambda *arguments: calls.append(1) or product(*arguments))
    layer = linear.Linear(1024, 1024)
    layer(torch.ones(64, 1024, requires_grad=True)).sum().backward()
    with torch.no_grad():
        layer(torch.ones(64, 1024))
    assert len(calls) == (4 if chosen == route.ONEDNN else 0)


@pytest.mark.parametrize("work", route.LARGE)
def test_each_product_of_a_large_layer_has_its_own_route_measured_as_it_is_made(
    monkeypatch: pytest.MonkeyPatch, work: str
):
    made, product = [], onednn.product

    def record(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
        # the shape and which of its two axes lie in order in memory
        made.append([(tuple(one.shape), one.is_contiguous()) for one in (x, weight)])
        return product(x, weight, bias)

    monkeypatch.setattr(route, "_chosen", dict.fromkeys(route.SHAPES, route.TORCH) | {work: route.ONEDNN})
    monkeypatch.setattr(onednn, "product", record)
    layers = linear.Linear(512, 512), torch.nn.Linear(512, 512)
    layers[1].load_state_dict(layers[0].state_dict())
    results = []
    for layer in layers:
        x = torch.randn(512, 512, generator=torch.Generator().manual_seed(1)).requires_grad_()
        y = layer(x)
        # a gradient of its own memory, as from a layer above
        y.backward(torch.randn(512, 512, generator=torch.Generator().manual_seed(2)) / 16)
        results.append([y, x.grad, layer.weight.grad, layer.bias.grad])
    for actual, expected in zip(*results, strict=True):
        torch.testing.assert_close(actual, expected, **PRODUCTS)
    assert len(made) == 1
    route.gain(work, torchs=quick, onednn=record)
    assert made == made[:1] * (1 + route.TURNS)


@pytest.mark.parametrize(
    ("rows", "inputs", "outputs", "is_large"),
    [(512, 512, 512, True), (511, 512, 512, False), (4096, 128, 256, True), (105, 128, 10000, True)],
)
def test_a_layer_is_large_by_its_multiplications(
    monkeypatch: pytest.MonkeyPatch, rows: int, inputs: int, outputs: int, is_large: bool
):
    asked = []
    monkeypatch.setattr(route, "is_onednn", lambda work, **_: asked.append(work) or True)
    layer = linear.Linear(inputs, outputs)
    layer(torch.ones(rows, inputs, requires_grad=True)).sum().backward()
    assert set(asked) == (set(route.LARGE) if is_large else {route.TRAINING})
    asked.clear()
    with torch.no_grad():
        layer(torch.ones(rows, inputs))
    assert asked == [route.FORWARD if is_large else route.SEARCH]


@pytest.mark.parametrize("training", [True, False])
def test_products_of_a_loss_are_of_training_where_it_has_a_gradient(monkeypatch: pytest.MonkeyPatch, training: bool):
    asked = []
    monkeypatch.setattr(route, "is_onednn", lambda work, **_: asked.append(work))
    features, weight = torch.ones(64, 128), torch.ones(1000, 128, requires_grad=training)
    target = torch.full((64,), 5)
    projected_loss(features, weight, target, epsilon=0.1, padding_idx=1)
    assert len(asked) == 1 + training and set(asked) == {
        route.TRAINING if training else route.SEARCH
    }  # no gradient of the features


def test_training_and_search_are_told_apart(monkeypatch: pytest.MonkeyPatch):
    asked = []
    monkeypatch.setattr(route, "is_onednn", lambda work, **_: asked.append(work))
    layer, x = linear.Linear(512, 512), torch.ones(32, 512)
    layer(x)
    with torch.no_grad():
        layer(x)
    layer.requires_grad_(False)
    layer(x)
    assert asked == [route.TRAINING, route.SEARCH, route.SEARCH]


def test_what_is_packed_for_onednn_is_packed_once_and_not_in_its_time():
    packed = []

    def prepare(weight: Tensor) -> Tensor:
        time.sleep(0.05)
        packed.append(weight)
        return weight

    assert route.is_onednn(route.PACKED, torchs=slow, onednn=quick, prepare=prepare)
    assert [tuple(weight.shape) for weight in packed] == 4 * [(2048, 512)]


@pytest.mark.parametrize("work", [work for work in route.SHAPES if "packed" in work])
def test_packed_weights_are_read_in_turn_as_in_a_model(work: str):
    read: dict[str, list[int]] = {"torchs": [], "onednn": []}

    def product(name: str) -> route.Product:
        return lambda x, weight: read[name].append(weight.data_ptr()) or quick(x, weight)

    route.gain(work, torchs=product("torchs"), onednn=product("onednn"), prepare=torch.clone)
    for pointers in read.values():
        assert len(pointers) > 4 and pointers[:4] == pointers[4:8] and len(set(pointers)) == 4


@pytest.mark.parametrize(
    ("work", "threads"), [(route.TRAINING, 1), (route.FORWARD, 1), (route.SEARCH, 1), (route.PACKED, 2)]
)
def test_what_waits_for_its_weights_is_measured_by_all_threads(work: str, threads: int):
    before, used = torch.get_num_threads(), set()

    def product(x: Tensor, weight: Tensor) -> Tensor:
        used.add(torch.get_num_threads())
        return quick(x, weight)

    torch.set_num_threads(2)
    try:
        route.gain(work, torchs=product, onednn=product)
        assert used == {threads} and torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)
