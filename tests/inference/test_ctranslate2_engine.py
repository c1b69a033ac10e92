"""`translate --engine ctranslate2`: what it needs, what it refuses, and that its memory and order hold."""

import json
import shutil
import sys
import types
from collections.abc import Iterator
from pathlib import Path

import ctranslate2
import pytest
import torch

from fairseq_rope.export.ctranslate2.model_folder import read_model_folder, write_checksums
from fairseq_rope.inference.translator import Translator
from fairseq_rope_data.errors import UserError
from tests.support.trained import Trained, call

TOOL = "fairseq_rope.tools.translate"


def load(trained: Trained, folder: Path, *options: str) -> Translator:
    engine = ("--engine", "ctranslate2", "--path", str(folder), "--intra-threads", "1", "--beam", "2")
    return Translator.from_args([*trained.options(), *engine, *options])


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


@pytest.mark.parametrize(
    "name", ["model.bin", "config.json", "shared_vocabulary.json", "dict.en.txt", "fairseq_rope.json"]
)
def test_a_model_folder_that_lacks_a_file_is_told(trained: Trained, exported: Path, tmp_path: Path, name: str) -> None:
    folder = shutil.copytree(exported, tmp_path / "model")
    (folder / name).unlink()
    with pytest.raises(UserError) as error:
        load(trained, folder)
    assert str(error.value) == f"the model folder {folder} is incomplete: it has no {name}"


@pytest.mark.parametrize("name", ["model.bin", "config.json", "shared_vocabulary.json", "dict.de.txt", "codes"])
def test_a_changed_file_is_told(trained: Trained, exported: Path, tmp_path: Path, name: str) -> None:
    folder = shutil.copytree(exported, tmp_path / "model")
    shutil.copyfile(trained.codes, folder / "codes")
    write_checksums(folder)
    content = bytearray((folder / name).read_bytes())
    content[len(content) // 2] ^= 1
    (folder / name).write_bytes(content)
    with pytest.raises(UserError) as error:
        load(trained, folder)
    assert str(error.value) == f"{folder / name} is damaged: its SHA-256 is not the one in SHA256SUMS"


@pytest.mark.parametrize("content", ["", "x\n", f"{'0' * 64} model.bin\n", f"{'0' * 64}  ../model.bin\n"])
def test_damaged_checksums_are_told(trained: Trained, exported: Path, tmp_path: Path, content: str) -> None:
    folder = shutil.copytree(exported, tmp_path / "model")
    (folder / "SHA256SUMS").write_text(content)
    with pytest.raises(UserError) as error:
        load(trained, folder)
    assert str(error.value).startswith(f"{folder}/SHA256SUMS:1 is damaged: ")


@pytest.mark.parametrize("lost", [40, 200])
@pytest.mark.parametrize("at_a_line", [False, True])
def test_checksums_that_are_cut_off_are_told(
    trained: Trained, exported: Path, tmp_path: Path, lost: int, at_a_line: bool
) -> None:
    folder = shutil.copytree(exported, tmp_path / "model")
    content = (folder / "SHA256SUMS").read_text()[:-lost]
    (folder / "SHA256SUMS").write_text(content[: content.rindex("\n") + 1] if at_a_line else content)
    with pytest.raises(UserError, match=r"SHA256SUMS(:\d)? is damaged: it (must be|has no line for)"):
        load(trained, folder)


def test_the_last_checksum_needs_no_line_end(trained: Trained, exported: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(exported, tmp_path / "model")
    (folder / "SHA256SUMS").write_text((folder / "SHA256SUMS").read_text().removesuffix("\n"))
    load(trained, folder)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("model.bin", "cannot be loaded: "),
        ("config.json", "cannot be loaded: "),
        ("shared_vocabulary.json", "shared_vocabulary.json is damaged: "),
        ("fairseq_rope.json", "fairseq_rope.json is damaged: "),
    ],
)
def test_a_file_that_was_recorded_cut_in_two_is_told(
    trained: Trained, exported: Path, tmp_path: Path, name: str, message: str
) -> None:
    folder = shutil.copytree(exported, tmp_path / "model")
    content = (folder / name).read_bytes()
    (folder / name).write_bytes(content[: len(content) // 2])
    write_checksums(folder)
    with pytest.raises(UserError) as error:
        load(trained, folder)
    assert str(folder) in str(error.value) and message in str(error.value)


@pytest.mark.parametrize("name", ["model.bin", "dict.en.txt", "SHA256SUMS"])
def test_a_translation_is_not_written_over_the_model(
    trained: Trained, exported: Path, tmp_path: Path, name: str
) -> None:
    folder = shutil.copytree(exported, tmp_path / "model")
    output = folder / name
    with pytest.raises(UserError, match=f"^{output} would be written in the place of {output}, which is read$"):
        load(trained, folder, "--output", str(output))
    other = folder / "output.txt"  # of no file of the model, and written before
    other.touch()
    load(trained, folder, "--output", str(other))


@pytest.mark.parametrize("content", ["5", "null", '{"a": 1}', '["a", 1]'])
def test_a_vocabulary_that_is_no_list_of_tokens_is_told(
    trained: Trained, exported: Path, tmp_path: Path, content: str
) -> None:
    folder = shutil.copytree(exported, tmp_path / "model")
    (folder / "shared_vocabulary.json").write_text(content)
    write_checksums(folder)
    with pytest.raises(UserError, match=r"shared_vocabulary\.json is damaged: it must be a list of tokens$"):
        load(trained, folder)


def test_settings_without_a_key_are_told(trained: Trained, exported: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(exported, tmp_path / "model")
    (folder / "fairseq_rope.json").write_text('{"source_lang": "en"}')
    write_checksums(folder)
    with pytest.raises(
        UserError, match=r"fairseq_rope\.json is damaged: its keys must be source_lang, target_lang, max"
    ):
        load(trained, folder)


@pytest.mark.parametrize(
    ("name", "value", "rule"),
    [
        ("source_lang", 5, "text, but is '5'"),
        ("max_source_positions", "x", "a number of at least 2, but is 'x'"),
        ("max_source_positions", 0, "a number of at least 2, but is '0'"),
        ("max_source_positions", 10**30, "a number of at least 2, but is '1000"),
        ("max_target_positions", True, "a number of at least 2, but is 'True'"),
        ("max_target_positions", float("nan"), "a number of at least 2, but is 'nan'"),
        ("quantization", [], "text, but is '\\[\\]'"),
    ],
)
def test_settings_with_a_bad_value_are_told(
    exported: Path, tmp_path: Path, name: str, value: object, rule: str
) -> None:
    folder = shutil.copytree(exported, tmp_path / "model")
    file = folder / "fairseq_rope.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), name: value}))
    write_checksums(folder)
    with pytest.raises(UserError, match=rf"fairseq_rope\.json is damaged: {name} must be {rule}"):
        read_model_folder(folder)
    file.write_text("[" * 100_000)
    write_checksums(folder)
    with pytest.raises(UserError, match=r"fairseq_rope\.json is damaged: maximum recursion"):
        read_model_folder(folder)


@pytest.mark.parametrize("change", ["another 1\n", ""], ids=["longer", "other words"])
def test_dictionaries_of_another_model_are_refused(
    trained: Trained, exported: Path, tmp_path: Path, change: str
) -> None:
    for lang in ("en", "de"):
        text = (trained.data / f"dict.{lang}.txt").read_text(encoding="utf-8")
        words = f"{text}{change}" if change else f"another {text.partition(' ')[2]}"
        (tmp_path / f"dict.{lang}.txt").write_text(words, encoding="utf-8")
    options = [*trained.options(), "--engine", "ctranslate2", "--path", str(exported)]
    with pytest.raises(UserError, match=r"DATA .* does not fit --path .*: its source dictionary has \d+ words"):
        Translator.from_args([str(tmp_path), *options[1:]])


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
