"""The options of the benchmark: what depends on others, and errors that name them."""

import json
import logging
import sys
from pathlib import Path

import pytest
import torch

import benchmark
from benchmarks.model import options
from fairseq_rope_data.errors import UserError


def read(monkeypatch: pytest.MonkeyPatch, folder: Path, *arguments: str):
    monkeypatch.setattr(sys, "argv", ["benchmark.py", *arguments, "--work", str(folder / "work")])
    return options.read("")


@pytest.mark.parametrize("gpu", [False, True], ids=["cpu", "gpu"])
def test_large_batches_and_half_precision_are_measured_on_a_gpu(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, gpu: bool
):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: gpu)
    args = read(monkeypatch, tmp_path)
    assert args.device == ("cuda" if gpu else "cpu")
    assert args.max_tokens == ([1024, 4096, 25_000] if gpu else [1024, 4096])
    assert args.dtypes == (["fp32", "bf16", "fp16"] if gpu else ["fp32"])
    assert args.kinds == ["train", "generate", "length", "rotation"] and args.repetitions >= 5


def test_dtypes_go_by_their_older_name_too(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    for option in ("--dtypes", "--number-types"):
        assert read(monkeypatch, tmp_path, option, "bf16", "fp32").dtypes == ["bf16", "fp32"]


def test_tricks_are_measured_when_asked_for_and_on_the_cpu(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert read(monkeypatch, tmp_path, "tricks", "--device", "cpu").kinds == ["tricks"]
    with pytest.raises(UserError, match="tricks are of the CPU: they need --device cpu, but it is cuda"):
        read(monkeypatch, tmp_path, "tricks")


def test_blocks_count_only_where_masked_language_models_are_measured(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    small = ("tricks", "--max-tokens", "64", "--tricks")
    assert read(monkeypatch, tmp_path, *small, "kv-cache").blocks == [128]
    with pytest.raises(UserError, match="--blocks must be at most --max-tokens"):
        read(monkeypatch, tmp_path, *small, "dropout")


def test_each_model_has_options_of_its_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    args = read(
        monkeypatch, tmp_path, "train", "--criterion", "label_smoothed_cross_entropy", "--rope-options", "--rope-base 5"
    )
    assert args.model_options == {
        "stock": (),
        "rope": ("--criterion", "label_smoothed_cross_entropy", "--rope-base", "5"),
    }


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["x"], "KIND must be one of train, generate, length, rotation, masked, finetune, profile, tricks, but is x"),
        (["--device", "cuda"], "--device cuda needs a GPU that torch can use, but there is none"),
        (["--warm-up", "-1"], "--warm-up must be 0 or more, but is -1"),
        (["--steps", "1"], "--steps must be 2 or more, a word and the end of the sentence, but is 1"),
        (
            ["masked", "--blocks", "128", "512", "--max-tokens", "256"],
            "--blocks must be at most --max-tokens, .* 512 and 256",
        ),
        (["--data", "/none"], "there is no /none"),
        (["--data", "/"], "--data must be a binarized corpus with a train set, but / has none"),
        (
            ["--rope-checkpoint", "/none"],
            "--stock-checkpoint, --rope-checkpoint and the --data of both are given together",
        ),
        (["--output", "/none/x.json"], "cannot write /none/x.json: there is no folder /none"),
    ],
    ids=["kind", "device", "warm-up", "steps", "blocks", "no-data", "data", "checkpoint", "output"],
)
def test_an_error_names_the_option_the_rule_and_the_value(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, arguments: list[str], error: str
):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(UserError, match=error):
        read(monkeypatch, tmp_path, *arguments)
    assert not (tmp_path / "work").exists()


def test_what_has_not_begun_in_time_is_left_out_and_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    output = tmp_path / "out.json"
    arguments = f"train --sizes tiny --max-tokens 512 --pairs 10 --minutes 0 --work {tmp_path} --output {output}"
    monkeypatch.setattr(sys, "argv", ["benchmark.py", *arguments.split()])
    try:
        benchmark.main()
    finally:
        logging.disable(logging.NOTSET)
    left_out = [f"train, tiny, {kind}, max_tokens 512: the 0 minutes were over" for kind in dtypes()]
    result = json.loads(output.read_text())
    assert (result["rows"], result["left_out"]) == ([], left_out)
    assert f"left out: {left_out[0]}" in capsys.readouterr().out


def dtypes() -> tuple[str, ...]:
    return options.DTYPES if torch.cuda.is_available() else ("fp32",)


@pytest.mark.parametrize("value", ["0", "-5", "x"])
def test_a_count_is_above_zero(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, value: str):
    with pytest.raises(SystemExit):
        read(monkeypatch, tmp_path, "--updates", value)
