"""Tricks that are switched off: each has an effect, and the model computes the same without it."""

import os
import subprocess
import sys
from argparse import Namespace
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from benchmarks.model import build, data, options, plan, report, train, tricks
from benchmarks.model.compare import compare
from benchmarks.model.spec import Spec
from fairseq_rope.compat import openmp, product_caches
from fairseq_rope.modules.cpu import packing, route

ROUNDING = 1e-5  # relative, of losses and scores
OTHER_MASKS = 0.02  # the same of losses, where dropout draws other numbers or in another order
REDRAWN = ("dropout", "token-rows", "selected-queries")

COMMANDS = {
    "train": lambda spec: build.training_options(spec, max_tokens=spec.max_tokens),
    "masked": build.masked_options,
    "finetune": build.classifying_options,
}


@pytest.fixture(autouse=True)
def products_are_onednns(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a processor where they would not be, to switch that off would have no effect."""
    monkeypatch.setattr(route, "_chosen", dict.fromkeys(route.SHAPES, route.ONEDNN))


def functions(work: str) -> list[str]:
    return [name for name, trick in tricks.TRICKS.items() if work in trick.works and trick.function]


@pytest.fixture(scope="module")
def spec(tmp_path_factory: pytest.TempPathFactory) -> Spec:
    folder = tmp_path_factory.mktemp("tricks")
    corpus = data.synthetic_corpus(folder, 400, pairs=200, test_pairs=8)
    return Spec("train", "rope", "tiny", "fp32", "cpu", str(corpus), str(folder), max_tokens=600)


def losses(spec: Spec, trick: str) -> list[float]:
    """The losses of three updates without a trick, which must have had an effect until then."""
    found: list[float] = []
    with tricks.without(trick) as has_effect:
        trainer = build.trainer(spec, COMMANDS[spec.kind](spec))
        # what the trainer reports is rounded
        trainer.get_criterion().register_forward_hook(lambda _, __, result: found.append(float(result[0] / result[1])))
        groups = train.batches(trainer)
        for _ in range(3):
            trainer.train_step(next(groups))
        assert has_effect()
    return found


@pytest.mark.parametrize("trick", functions("train"))
def test_losses_are_the_same_without(spec: Spec, trick: str) -> None:
    rate, tolerance = ("0.1", OTHER_MASKS) if trick == "dropout" else ("0", ROUNDING)
    spec = replace(spec, options=("--dropout", rate, "--lr", "1e-2", "--warmup-updates", "10"))
    expected, actual = losses(spec, ""), losses(spec, trick)
    assert actual == pytest.approx(expected, rel=tolerance)
    assert expected[-1] < expected[0] - 10 * ROUNDING


@pytest.mark.parametrize("trick", functions("masked"))
def test_losses_of_masked_language_models_are_the_same_without(spec: Spec, trick: str) -> None:
    text = data.synthetic_text(Path(spec.work), 400, block=128)
    rates = ("--dropout", "0.1", "--attention-dropout", "0.1", "--lr", "1e-2", "--warmup-updates", "10")
    spec = replace(spec, kind="masked", data=str(text), block=128, options=rates)
    expected, actual = losses(spec, ""), losses(spec, trick)
    assert actual == pytest.approx(expected, rel=OTHER_MASKS if trick in REDRAWN else ROUNDING)
    assert expected[-1] < expected[0] - 10 * ROUNDING


@pytest.mark.parametrize("trick", functions("finetune"))
def test_losses_of_classifiers_are_the_same_without(spec: Spec, trick: str) -> None:
    examples = data.synthetic_examples(Path(spec.work), 400, examples=100)
    rates = ("--dropout", "0", "--attention-dropout", "0", "--lr", "1e-2", "--warmup-updates", "10")
    spec = replace(spec, kind="finetune", data=str(examples), options=rates)
    expected, actual = losses(spec, ""), losses(spec, trick)
    assert actual == pytest.approx(expected, rel=ROUNDING)
    assert expected[-1] != pytest.approx(expected[0], rel=10 * ROUNDING)


def scores(spec: Spec, trick: str) -> list[list[float]]:
    with tricks.without(trick) as has_effect:
        trainer = build.trainer(spec, build.training_options(spec, max_tokens=spec.max_tokens))
        trainer.task.load_dataset("test")
        dataset, model = trainer.task.dataset("test"), trainer.get_model()
        model.make_generation_fast_()  # as fairseq-generate does
        batch = dataset.collater([dataset[i] for i in range(8)])
        generator = trainer.task.build_generator([model], Namespace(beam=4, max_len_b=10))
        found = generator.generate([model], batch)
        assert has_effect()
    return [sorted(float(hypothesis["score"]) for hypothesis in sentence) for sentence in found]


@pytest.mark.parametrize("trick", functions("generate"))
def test_translations_score_the_same_without(spec: Spec, trick: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if trick == "packed-weights":
        monkeypatch.setattr(packing, "MIN_PACKED_WEIGHTS", 1)  # weights of this model are small
    expected, actual = scores(spec, ""), scores(spec, trick)
    assert len(expected) == 8 and len(expected[0]) == 4
    for one, other in zip(actual, expected, strict=True):
        assert one == pytest.approx(other, rel=ROUNDING)


def test_a_function_is_back_after_the_block() -> None:
    from fairseq_rope.modules import attention_core

    before = attention_core._is_step
    with tricks.without("plain-products") as has_effect:
        assert attention_core._is_step is not before
    assert attention_core._is_step is before and not has_effect()


@pytest.mark.usefixtures("forked_workers")
def test_a_trick_that_does_nothing_here_is_told_and_no_failure(spec: Spec) -> None:
    # too few tokens to join the weights
    specs = [replace(spec, max_tokens=128), replace(spec, max_tokens=128, without="joined-qkv")]
    measured = compare(specs, repetitions=1, warm_up=0, best_rate=None)
    assert measured["joined-qkv"] == {"options": [], "error": "no effect"}
    row = {"kind": "tricks", "size": "tiny", "dtype": "fp32", "work": "train", "max_tokens": 128, "trick": "joined-qkv"}
    row = report.compared(row, {"without": measured["joined-qkv"]}, measured["rope"])
    assert not report.failed(row)
    assert " | 128 tokens | joined-qkv | " in report.tables([row]) and " | no effect | " in report.tables([row])


def test_settings_of_the_users_are_left_alone_and_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOMP_SPINCOUNT", openmp.SPIN_COUNT)
    monkeypatch.setenv("ONEDNN_PRIMITIVE_CACHE_CAPACITY", product_caches.CAPACITY)
    monkeypatch.setenv("LRU_CACHE_CAPACITY", "77")
    names = list(tricks.TRICKS)
    assert tricks.left_out(names) == {"ideep-cache": "LRU_CACHE_CAPACITY is not the package's 64 here"}
    assert {"onednn-cache", "spin-count", "onednn"} <= set(tricks.switchable(names, "train"))
    assert not {"ideep-cache", "kv-cache"} & set(tricks.switchable(names, "train"))
    assert tricks.environment("onednn-cache") == {"ONEDNN_PRIMITIVE_CACHE_CAPACITY": "1024"}
    monkeypatch.setenv("MALLOC_TOP_PAD_", "65536")
    assert tricks.left_out(["kept-heap"]) == {"kept-heap": "the user has set glibc's allocator here"}
    assert tricks.environment("onednn") == tricks.environment("") == {}


@pytest.mark.skipif(sys.platform != "linux" or not torch.backends.openmp.is_available(), reason="GNU's OpenMP only")
def test_threads_wait_without_the_package_as_long_as_openmp_lets_them() -> None:
    def spin_count(**variables: str) -> str:
        names = ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY", "OMP_NUM_THREADS")
        environment = {name: value for name, value in os.environ.items() if name not in names}
        command = [sys.executable, "-c", "import torch"]
        environment |= {"OMP_DISPLAY_ENV": "VERBOSE", **variables}
        shown = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stderr
        return next(line.split("'")[1] for line in shown.splitlines() if "GOMP_SPINCOUNT" in line)

    assert spin_count() == spin_count(**tricks.environment("spin-count")) == "300000"
    assert spin_count(GOMP_SPINCOUNT=openmp.SPIN_COUNT) == openmp.SPIN_COUNT


@pytest.mark.parametrize(
    ("trick", "works"), [("one-pass-adam", ["train"]), ("kv-cache", ["generate"]), ("unpadding", ["finetune"])]
)
def test_only_work_that_a_trick_is_for_is_measured(
    spec: Spec, monkeypatch: pytest.MonkeyPatch, trick: str, works: list
):
    arguments = ["tricks", "--tricks", trick, "--sizes", "tiny", "--max-tokens", "600", "--batches", "1"]
    monkeypatch.setattr(sys, "argv", ["benchmark.py", *arguments, "--data", spec.data, "--work", spec.work])
    assert [setting.row["work"] for setting in plan.settings(options.read(""))] == works
