"""A model folder of CTranslate2 that lacks a file, is damaged, of another model, or would be written over."""

import json
import shutil
from pathlib import Path

import pytest

from fairseq_rope.export.ctranslate2.model_folder import read_model_folder, write_checksums
from fairseq_rope.inference.translator import Translator
from fairseq_rope_data.errors import UserError
from tests.support.runtime import load
from tests.support.trained import Trained


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
