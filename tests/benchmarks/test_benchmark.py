"""The whole benchmark on a small model, as its user starts it."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.support import ROOT
from tests.support.forked import shared_server

COMMAND = [
    *(
        "train",
        "generate",
        "length",
        "rotation",
        "masked",
        "finetune",
        "profile",
        "tricks",
        "--sizes",
        "tiny",
        "--max-tokens",
        "256",
        "--lengths",
        "256",
        "--blocks",
        "64",
        "256",
    ),
    *("--batches", "32", "--sentences", "6", "--steps", "4", "--updates", "2", "--pairs", "100"),
    *("--repetitions", "2", "--warm-up", "0", "--number-types", "fp32", "--tricks", "in-place-rotation", "kv-cache"),
]


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What one run of the benchmark writes; its tables stand in `tables`."""
    folder = tmp_path_factory.mktemp("benchmark")
    output = folder / "benchmark.json"
    # an installed package that is not the one beside the benchmark: of the same name, fairseq would import only one
    for package in ("fairseq_rope", "data-prep/fairseq_rope_data"):
        shutil.copytree(ROOT / package, folder / "installed" / Path(package).name)
    options = [*COMMAND, "--work", folder / "work", "--output", output]
    settings = {"PYTHONPATH": str(folder / "installed")}
    done = shared_server().call(f"{ROOT}/scripts/benchmark.py", options, cwd=folder, timeout=600, **settings)
    assert done.status == 0, done.text[-3000:]
    return {**json.loads(output.read_text()), "tables": done.stdout.decode()}


def test_every_kind_of_measurement_has_a_row_and_a_line_in_a_table(result: dict[str, Any]) -> None:
    assert [row["kind"] for row in result["rows"]] == [
        *("train", "generate", "length", "rotation", "masked", "masked", "finetune", "profile", *["tricks"] * 3)
    ]
    assert result["left_out"] == []
    assert result["tables"].count("| tiny | fp32 |") == 11


@pytest.mark.parametrize("kind", ["train", "generate", "length", "masked", "finetune"])
def test_both_models_see_the_same_tokens(result: dict[str, Any], kind: str) -> None:
    stock, rope = (find(result, kind)["models"][model] for model in ("stock", "rope"))
    for name in ("tokens", "sentences"):
        assert stock[name] == rope[name] and len(stock[name]) == 2 and min(stock[name]) > 0
    assert stock.get("steps") == rope.get("steps") == (None if kind == "generate" else [2, 2])


def test_forced_translations_have_exactly_the_asked_number_of_tokens(result: dict[str, Any]) -> None:
    row = find(result, "generate")
    assert row["lengths"] == "forced to 4"
    assert row["models"]["rope"]["tokens"] == [6 * 4] * 2


@pytest.mark.parametrize("kind", ["train", "generate", "length", "masked", "finetune"])
def test_speed_and_memory_compare_the_models(result: dict[str, Any], kind: str) -> None:
    row = find(result, kind)
    stock, rope = (row["models"][model] for model in ("stock", "rope"))
    rates = zip(rope["tokens_per_second"]["all"], stock["tokens_per_second"]["all"], strict=True)
    assert row["speed"]["all"] == pytest.approx([ours / theirs for ours, theirs in rates])
    assert row["memory"] == rope["peak"] / stock["peak"]
    assert min(rope["peak"], stock["peak"]) > 100 * 2**20


def test_blocks_of_masked_language_models_are_as_long_as_asked(result: dict[str, Any]) -> None:
    for row, block in zip([row for row in result["rows"] if row["kind"] == "masked"], (64, 256), strict=True):
        rope = row["models"]["rope"]
        assert row["block"] == block
        assert rope["tokens"] == [256 * 2] * 2 and rope["sentences"] == [256 // block * 2] * 2


def test_the_rotation_has_a_share_and_no_ratio(result: dict[str, Any]) -> None:
    row = find(result, "rotation")
    assert len(row["share"]["all"]) == 2 and "speed" not in row
    assert row["models"].keys() == {"rope"}


def test_the_parts_of_a_step_are_together_its_time(result: dict[str, Any]) -> None:
    row = find(result, "profile")
    for measured in row["models"].values():
        assert [sum(parts.values()) for parts in measured["parts"]] == pytest.approx(measured["seconds"])
        least = {part: min(parts[part] for parts in measured["parts"]) for part in measured["parts"][0]}
        assert all(least.values()) and least["products"] > least["layer norm"]
    assert "products, stock / rope" in result["tables"]


def test_a_trick_has_a_row_in_each_work_that_it_is_for(result: dict[str, Any]) -> None:
    rows = [row for row in result["rows"] if row["kind"] == "tricks"]
    works = [("train", "in-place-rotation"), ("generate", "in-place-rotation"), ("generate", "kv-cache")]
    assert [(row["work"], row["trick"]) for row in rows] == works
    for row in rows:
        with_all, without = (row["models"][name]["tokens_per_second"]["all"] for name in ("rope", "without"))
        assert row["speed"]["all"] == pytest.approx([one / other for one, other in zip(with_all, without, strict=True)])


def test_the_result_says_where_and_with_what_it_was_measured(result: dict[str, Any]) -> None:
    assert {"fairseq_rope", "torch", "CPU", "threads", "load before"} <= result["environment"].keys()
    assert result["command"].endswith(f"--output {result['command'].split()[-1]}")


def test_training_says_what_share_of_the_best_rate_it_needs(result: dict[str, Any]) -> None:
    assert result["environment"]["products, fp32"].endswith(" GFLOP/s")
    for kind in ("train", "masked"):
        for measured in find(result, kind)["models"].values():
            # of the processor's rate just before each repetition
            needs, seconds, rates = (measured[name] for name in ("flops", "seconds", "best_rate"))
            assert len(rates) == 2 and rates[0] != rates[1]
            shares = [need / second / rate for need, second, rate in zip(needs, seconds, rates, strict=True)]
            assert measured["utilization"] == pytest.approx(shares) and min(shares) > 0
    assert "| utilization, stock / rope |" in result["tables"]
    assert "| utilization, roberta / roformer |" in result["tables"]


def test_training_says_how_much_of_its_batches_is_padding(result: dict[str, Any]) -> None:
    rope, stock = (find(result, "train")["models"][model] for model in ("rope", "stock"))
    assert (rope["padded"], rope["padding"]) == (stock["padded"], stock["padding"])
    for padded, padding, targets in zip(rope["padded"], rope["padding"], rope["tokens"], strict=True):
        # a target has 0.8 to 1.25 times as many words as its source
        assert 0 < padding < padded / 2 and 1.7 * targets < padded - padding < 2.3 * targets
    rope = find(result, "finetune")["models"]["rope"]  # of sentences in random order
    assert min(padding / padded for padding, padded in zip(rope["padding"], rope["padded"], strict=True)) > 0.2
    assert "padding" not in find(result, "length")["models"]["rope"]
    assert "| padding |" in result["tables"]


def find(result: dict[str, Any], kind: str) -> dict[str, Any]:
    return next(row for row in result["rows"] if row["kind"] == kind)
