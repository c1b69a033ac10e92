"""`translate --engine ctranslate2`: its text, batches and memory, and the options that it refuses."""

import shutil
import sys
import types
from collections.abc import Iterator
from pathlib import Path

import ctranslate2
import pytest
import torch

from fairseq_rope.export.ctranslate2.model_folder import write_checksums
from fairseq_rope.inference.translator import Translator
from fairseq_rope_data.errors import UserError
from tests.support.runtime import load
from tests.support.trained import Trained, call

TOOL = "fairseq_rope.tools.translate"


def test_the_command_line_gives_what_fairseqs_engine_gives(trained: Trained, exported: Path) -> None:
    lines = "".join(f"{line}\n" for line in trained.lines[:40]).encode()
    options = [*trained.options(), "--beam", "4", "--lenpen", "0.6"]
    expected, ours = (
        call(TOOL, *options, *engine, stdin=lines)
        for engine in ((), ("--engine", "ctranslate2", "--path", str(exported)))
    )
    assert ours.stdout == expected.stdout
    assert b"translate: 40 lines in" in ours.stderr and b"arning" not in ours.stderr


def test_the_model_folder_is_enough(trained: Trained, exported: Path, tmp_path: Path) -> None:
    shutil.copytree(exported, tmp_path / "model")
    chain = ["--tokenizer", "moses", "--bpe", "subword_nmt", "--bpe-codes", str(trained.codes), "--beam", "2"]
    alone = Translator.from_args([str(tmp_path / "model"), "--engine", "ctranslate2", "--cpu", *chain])
    assert (alone.cfg.tokenizer.source_lang, alone.cfg.tokenizer.target_lang) == ("en", "de")
    assert list(alone.translate(trained.lines[:5])) == list(load(trained, exported).translate(trained.lines[:5]))


def test_threads_types_and_batches_change_neither_order_nor_text(trained: Trained, exported: Path) -> None:
    lines = [*trained.lines[:20], "", *trained.lines[20:31]]
    expected = list(load(trained, exported).translate(lines))
    for options in (
        ("--inter-threads", "2", "--batch-size", "3"),
        ("--buffer-size", "4"),
        ("--compute-type", "float32"),
    ):
        assert list(load(trained, exported, *options).translate(lines)) == expected


@pytest.mark.parametrize(
    ("options", "workers", "largest"),
    [
        ((), 3, 17),  # six batches, two for each worker
        (("--beam", "4"), 3, 17),
        (("--buffer-size", "1"), 1, 1),
        (("--buffer-size", "80"), 3, 27),
        (("--max-tokens", "4096"), 3, 100),
        (("--batch-size", "60"), 3, 60),
        (("--inter-threads", "2"), 2, 25),
        (("--inter-threads", "1"), 1, 25),
    ],
)
def test_batches_are_small_and_shared_out_evenly_among_cores_unless_told_otherwise(
    trained: Trained,
    exported: Path,
    monkeypatch: pytest.MonkeyPatch,
    options: tuple[str, ...],
    workers: int,
    largest: int,
) -> None:
    monkeypatch.setattr(torch, "get_num_threads", lambda: 3)
    engine = ("--engine", "ctranslate2", "--path", str(exported), "--beam", "1")
    translator = Translator.from_args([*trained.options(), *engine, *options])
    assert translator.engine.translator.num_translators == workers
    batches = []
    real = translator.engine.translator
    translator.engine.translator = types.SimpleNamespace(
        translate_batch=lambda names, **search: batches.append(len(names)) or real.translate_batch(names, **search)
    )
    list(translator.translate(trained.lines[:100]))
    assert max(batches) == largest and sum(batches) == 100


def test_a_search_that_fails_is_one_line(trained: Trained, exported: Path) -> None:
    def fail() -> None:
        raise RuntimeError("CUDA failed with error out of memory")

    translator = load(trained, exported)
    failing = types.SimpleNamespace(result=fail)
    translator.engine.translator = types.SimpleNamespace(translate_batch=lambda names, **_: [failing] * len(names))
    with pytest.raises(UserError) as error:
        list(translator.translate(trained.lines[:2]))
    assert str(error.value) == f"the search with {exported} failed: CUDA failed with error out of memory"


def test_int8_gives_nearly_the_same_text(trained: Trained, exported: Path) -> None:
    lines = trained.lines[:100]
    exact, rounded = (list(load(trained, exported, *o).translate(lines)) for o in ((), ("--compute-type", "int8")))
    words = [(a.split(), b.split()) for a, b in zip(exact, rounded, strict=True)]
    assert sum(set(a) == set(b) for a, b in words) > 80


def test_memory_does_not_grow_with_the_file(trained: Trained, exported: Path) -> None:
    translator = load(trained, exported, "--beam", "1", "--buffer-size", "50")

    def endless() -> Iterator[str]:
        while True:
            yield from trained.lines

    translations = translator.translate(endless())
    sizes = []
    for _ in range(4):
        for _ in range(400):
            next(translations)
        sizes.append(_resident_bytes())
    assert sizes[-1] - sizes[0] < 4e6


def _resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--sampling"], "--sampling cannot be used with --engine ctranslate2: its random numbers are others"),
        (["--sampling-topk", "5"], "--sampling-topk cannot be used with --engine ctranslate2: "),
        (["--sampling-topp", "0.5"], "--sampling-topp cannot be used with --engine ctranslate2: "),
        (["--no-repeat-ngram-size", "3"], "--no-repeat-ngram-size cannot be used with --engine ctranslate2: "),
        (["--min-len", "3"], "--min-len cannot be used with --engine ctranslate2: "),
        (["--temperature", "2"], "--temperature cannot be used with --engine ctranslate2: its search has none"),
        (["--unkpen", "1"], "--unkpen cannot be used with --engine ctranslate2: its search has none"),
        (["--diverse-beam-groups", "2"], "--diverse-beam-groups cannot be used with --engine ctranslate2: "),
        (["--match-source-len"], "--match-source-len cannot be used with --engine ctranslate2: "),
        (["--retain-dropout"], "--retain-dropout cannot be used with --engine ctranslate2: "),
        (["-s", "de"], "--source-lang is de, but that of "),
        (["-t", "en"], "--target-lang is en, but that of "),
        (["--fp16"], "--fp16 cannot be used with --engine ctranslate2: use --compute-type"),
        (["--model-overrides", "{'dropout': 0}"], "--model-overrides cannot be used with --engine ctranslate2: "),
        (["--constraints"], "--constraints cannot be used with translate: input lines are text only"),
        (["--print-alignment"], "--print-alignment cannot be used with translate: only translations are written"),
        (["--task", "translation_lev"], "--task must be translation with --engine ctranslate2, but is translation_lev"),
        (["--inter-threads", "0"], "--inter-threads must be at least 1, but is 0"),
        (
            ["--inter-threads", "100", "--intra-threads", "100"],
            "--inter-threads x --intra-threads must be at most 1024",
        ),
        (["--intra-threads", "-1"], "--intra-threads must be at least 1, but is -1"),
        (["--path", "/no/model"], "--path /no/model: with --engine ctranslate2 it must be one folder, made by "),
        (["--path", "/a.pt:/b.pt"], "--path /a.pt:/b.pt: with --engine ctranslate2 it must be one folder"),
    ],
)
def test_what_the_runtime_cannot_do_as_fairseq_does_is_refused_by_name(
    trained: Trained, exported: Path, options: list[str], message: str
) -> None:
    with pytest.raises(UserError) as error:
        load(trained, exported, *options)
    assert message in str(error.value)


@pytest.mark.parametrize("option", [("--compute-type", "int8"), ("--inter-threads", "2"), ("--intra-threads", "0")])
def test_options_of_the_runtime_need_it(trained: Trained, option: tuple[str, str]) -> None:
    with pytest.raises(UserError, match=f"^{option[0]} needs --engine ctranslate2$"):
        Translator.from_args([*trained.options(), *option])


def test_a_type_that_the_cpu_lacks_is_refused_with_those_that_it_has(
    trained: Trained, exported: Path, tmp_path: Path
) -> None:
    lacking = sorted({"float16", "bfloat16", "int16", "int8_float16"} - ctranslate2.get_supported_compute_types("cpu"))
    assert lacking  # no CPU computes in int8_float16
    with pytest.raises(UserError, match=rf"^--compute-type {lacking[-1]} cannot be .* can be .*float32"):
        load(trained, exported, "--compute-type", lacking[-1])
    folder = shutil.copytree(exported, tmp_path / "model")
    settings = folder / "fairseq_rope.json"
    settings.write_text(settings.read_text().replace("float32", lacking[-1]))
    write_checksums(folder)
    with pytest.raises(UserError, match=rf"its --quantization {lacking[-1]} cannot be computed on this machine's cpu"):
        load(trained, folder)
    assert list(load(trained, folder, "--compute-type", "float32").translate(["Anna"]))


def test_a_missing_package_is_told(trained: Trained, exported: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ctranslate2", None)
    with pytest.raises(UserError, match=r"pip install 'ctranslate2>=4.6.3'"):
        load(trained, exported)
