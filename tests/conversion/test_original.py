"""What a checkpoint to convert must be, and what is wrong with it in one line."""

from pathlib import Path
from typing import Any

import pytest
import torch

from fairseq_rope.conversion.original import check_sets, read_original
from fairseq_rope_data.errors import UserError
from tests.support.originals import data_folder, original_checkpoint, save_original


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return data_folder(tmp_path / "data-bin")


def refusal(path: Path, data: Path) -> str:
    with pytest.raises(UserError) as caught:
        check_sets(read_original(path, data))
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("old", [False, True], ids=["cfg", "args"])
def test_options_of_both_forms_are_read_alike(old: bool, data: Path, tmp_path: Path):
    original = read_original(save_original(tmp_path / "x.pt", old=old, encoder_ffn_embed_dim=56), data)
    assert (original.updates, original.model.arch, original.model.encoder_ffn_embed_dim) == (40, "transformer", 56)
    assert original.model.encoder_learned_pos is False  # which the arch says, not the file
    assert (original.task.cfg.source_lang, original.task.cfg.target_lang) == ("en", "de")
    assert original.section("optimizer")["_name"] == "adam" and original.section("optimization")["clip_norm"] == 0.5
    assert original.section("criterion")["label_smoothing"] == 0.1


def with_model(**options: Any) -> dict[str, Any]:
    state = original_checkpoint()
    vars(state["cfg"]["model"]).update(options)
    return state


def with_task(**options: Any) -> dict[str, Any]:
    state = original_checkpoint()
    state["cfg"]["task"].update(options)
    return state


def without_task() -> dict[str, Any]:
    state = original_checkpoint()
    del state["cfg"]["task"]
    return state


REFUSED: dict[str, tuple[Any, str]] = {
    "text": (b"text", "cannot load {path}: it is truncated, corrupt or not a checkpoint "),
    "no model": (
        {"cfg": {}},
        "cannot load {path}: it is not a checkpoint of fairseq, which holds a dictionary 'model'",
    ),
    "rotary": (
        with_model(arch="transformer_rope_tiny"),
        "--from {path} is rotary already: its arch is transformer_rope_tiny",
    ),
    "no task": (without_task(), "--from {path} must be of --task translation, but is of None"),
    "no name of an arch": (
        with_model(arch=["transformer"]),
        "--from {path} must be of fairseq's transformer, but its arch is ['transformer']",
    ),
    "an option for a language": (
        with_task(source_lang="--user-dir=x"),
        "--source-lang must be a language, but is '--user-dir=x'",
    ),
    "another model": (
        with_model(arch="transformer_align"),
        "--from {path} must be of fairseq's transformer, but its arch is transformer_align",
    ),
    "unknown": (with_model(arch="mine"), "--from {path} must be of fairseq's transformer, but its arch is mine"),
    "without options": (
        {**original_checkpoint(), "cfg": None},
        "--from {path} must be of fairseq's transformer, but its arch is None",
    ),
    "another task": (
        with_task(_name="translation_multi_simple_epoch"),
        "--from {path} must be of --task translation, but is of translation_multi_simple_epoch",
    ),
    "another language": (
        with_task(target_lang="fr"),
        "DATA {data} has no dictionary dict.fr.txt (--target-lang fr)",
    ),
}


@pytest.mark.parametrize(("state", "message"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_converted_is_named(state: Any, message: str, data: Path, tmp_path: Path):
    path = tmp_path / "x.pt"
    if isinstance(state, bytes):
        path.write_bytes(state)
    else:
        torch.save(state, path)
    said = refusal(path, data)
    expected = message.format(path=path, data=data)
    assert said.startswith(expected) if expected.endswith(" ") else said == expected


def test_a_language_model_is_named(data: Path, tmp_path: Path):
    path = tmp_path / "lm.pt"
    state = original_checkpoint()
    state["cfg"]["model"] = {"_name": "transformer_lm", "decoder_layers": 2}
    torch.save(state, path)
    assert refusal(path, data) == f"--from {path} must be of fairseq's transformer, but its arch is transformer_lm"


def test_a_file_that_is_not_there_and_a_folder_are_named(data: Path, tmp_path: Path):
    assert refusal(tmp_path / "x.pt", data) == f"cannot load {tmp_path / 'x.pt'}: there is no such file"
    path = save_original(tmp_path / "y.pt")
    assert refusal(path, tmp_path / "none").startswith("DATA must be a folder of fairseq-preprocess, but ")


@pytest.mark.parametrize("missing", ["train", "valid", "test"])
def test_a_set_that_is_missing_is_named(missing: str, tmp_path: Path):
    sets = tuple(name for name in ("train", "valid", "test") if name != missing)
    data = data_folder(tmp_path / "data-bin", sets=sets)
    said = refusal(save_original(tmp_path / "x.pt"), data)
    assert said == f"DATA {data} has no {missing} set: there is no {missing}.en-de.en.idx"


def test_all_test_sets_are_found_in_either_direction_of_their_names(tmp_path: Path):
    data = data_folder(tmp_path / "data-bin", sets=("train", "valid", "test", "test1", "test3"))
    for name in ("test", "test1"):
        (data / f"{name}.en-de.en.idx").rename(data / f"{name}.de-en.en.idx")
    assert check_sets(read_original(save_original(tmp_path / "x.pt"), data)) == ["test", "test1"]
