"""Files of a work folder are compared with its manifest, by every tool that reads them."""

import hashlib
import json
import shutil
from pathlib import Path

import pytest

from fairseq_rope.export.ctranslate2 import export_checkpoint
from fairseq_rope.inference.translator import Translator
from fairseq_rope_data.errors import UserError
from fairseq_rope_data.recorded import check_recorded
from tests.support.program import run_program
from tests.support.trained import Trained

FILES = ("data-bin/dict.en.txt", "data-bin/dict.de.txt", "text/codes")


@pytest.fixture
def work(trained: Trained, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A work folder as a recipe leaves it."""
    shutil.copytree(trained.data, tmp_path / "data-bin")
    (tmp_path / "text").mkdir()
    shutil.copyfile(trained.codes, tmp_path / "text" / "codes")
    assert run_program(monkeypatch, "manifest", tmp_path).status == 0
    return tmp_path


def swap_two_lines(path: Path) -> None:
    lines = path.read_text(encoding="utf-8").split("\n")
    lines[3], lines[4] = lines[4], lines[3]
    path.write_text("\n".join(lines), encoding="utf-8")


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def translator(trained: Trained, work: Path) -> Translator:
    chain = ["--tokenizer", "moses", "--bpe", "subword_nmt", "--bpe-codes", str(work / "text" / "codes"), "--cpu"]
    return Translator.from_args([str(work / "data-bin"), "--path", str(trained.checkpoint), *chain])


@pytest.mark.parametrize("name", FILES)
def test_a_changed_file_is_refused_by_translate_and_export(trained: Trained, work: Path, name: str) -> None:
    assert list(translator(trained, work).translate(["Anna sees the dog."]))
    before = sha256(work / name)
    swap_two_lines(work / name)
    message = (
        f"{work / name} is not the file that was prepared: its SHA-256 is {sha256(work / name)}, "
        f"but {before} in {work}/manifest.json; make it again"
    )
    with pytest.raises(UserError) as error:
        translator(trained, work)
    assert str(error.value) == message
    with pytest.raises(UserError) as error:
        export_checkpoint(trained.checkpoint, work / "data-bin", work / "model", copy_files=[work / "text" / "codes"])
    assert str(error.value) == message
    assert not (work / "model").exists()


def test_what_is_not_recorded_is_taken_for_what_it_says(work: Path) -> None:
    (work / "text" / "mine").write_text("a b\n")
    check_recorded(work / "text" / "mine")
    swap_two_lines(work / "text" / "codes")
    (work / "manifest.json").unlink()
    check_recorded(work / "text" / "codes")


@pytest.mark.parametrize("content", ["{", "[]", "{}", '{"files": {"text/codes": 5}}', "\udcff"])
def test_a_damaged_manifest_is_told(work: Path, content: str) -> None:
    (work / "manifest.json").write_bytes(content.encode(errors="surrogateescape"))
    with pytest.raises(UserError, match=r"manifest\.json is damaged"):
        check_recorded(work / "text" / "codes")


def test_a_folder_that_is_a_link_is_compared_where_it_is_named(work: Path, tmp_path: Path) -> None:
    (work / "text").rename(work / "elsewhere")
    (work / "text").symlink_to(work / "elsewhere")
    check_recorded(work / "text" / "codes")
    swap_two_lines(work / "elsewhere" / "codes")
    with pytest.raises(UserError, match="is not the file that was prepared"):
        check_recorded(work / "text" / "codes")


def test_the_dictionary_of_a_column_is_compared_too(work: Path) -> None:
    (work / "data-bin" / "input0").mkdir()
    column = work / "data-bin" / "input0" / "dict.txt"
    shutil.copyfile(work / "data-bin" / "dict.en.txt", column)
    check_recorded(column)  # of which nothing is recorded
    manifest = json.loads((work / "manifest.json").read_text())
    manifest["files"]["data-bin/input0/dict.txt"] = manifest["files"]["data-bin/dict.en.txt"]
    (work / "manifest.json").write_text(json.dumps(manifest))
    check_recorded(column)
    swap_two_lines(column)
    with pytest.raises(UserError, match="is not the file that was prepared"):
        check_recorded(column)


def test_the_manifest_of_something_else_is_not_read(work: Path) -> None:
    for folder in (work / "app" / "static", work / "app" / "data-bin"):
        folder.mkdir(parents=True)
        (folder / "dict.txt").write_text("a 1\n")
    (work / "manifest.json").write_text("[]")
    check_recorded(work / "app" / "static" / "dict.txt")
    check_recorded(work / "app" / "data-bin" / "dict.txt")
