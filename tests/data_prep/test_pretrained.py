"""How the text of a pre-trained model was segmented, read from its folder; and WordPiece."""

import json
from pathlib import Path

import pytest

from tests.support.program import run_program

SETTINGS = {
    "SOURCE_LANG": "en",
    "NORMALIZE": "0",
    "LOWERCASE": "1",
    "MOSES": "--moses-no-dash-splits",
    "BPE": "subword_nmt",
}
_PIECES = "[PAD] [UNK] [CLS] [SEP] want ##want ##ed wa un runn ##ing , low ##est"
VOCABULARY = _PIECES.split()


def recipe(work: Path, **settings: str) -> Path:
    for name in ("text/codes", "text/sentencepiece.model", "data-bin/dict.txt"):
        (work / name).parent.mkdir(parents=True, exist_ok=True)
        (work / name).write_text("a 1\n")
    (work / "manifest.json").write_text(json.dumps({"settings": {**SETTINGS, **settings}, "files": {}}))
    return work


def imported(folder: Path) -> Path:
    folder.mkdir()
    (folder / "dict.txt").write_text("a 1\n")
    (folder / "vocab.txt").write_text("\n".join(VOCABULARY) + "\n")
    return folder


def test_settings_of_a_recipe_are_those_of_its_manifest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    work = recipe(tmp_path / "a 'work'")
    done = run_program(monkeypatch, "pretrained", work)
    quoted = f"'{tmp_path}/a '\"'\"'work'\"'\"'/"
    assert done.stdout.decode().splitlines() == [
        *("SOURCE_LANG=en", "NORMALIZE=0", "LOWERCASE=1", "MOSES=(--moses-no-dash-splits)", "BPE=subword_nmt"),
        *(f"CODES={quoted}text/codes'", f"DICTIONARY={quoted}data-bin/dict.txt'"),
    ]
    recipe(work, BPE="sentencepiece", MOSES="$(touch x)")
    lines = run_program(monkeypatch, "pretrained", work).stdout.decode().splitlines()
    assert lines[3] == "MOSES=('$(touch' 'x)')" and lines[5].endswith("sentencepiece.model'")


def test_an_imported_model_has_wordpiece_and_is_lower_cased_unless_it_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    folder = imported(tmp_path / "model")
    assert "LOWERCASE=1\nMOSES=()\nBPE=wordpiece\n" in run_program(monkeypatch, "pretrained", folder).stdout.decode()
    (folder / "tokenizer_config.json").write_text('{"do_lower_case": false}')
    assert "LOWERCASE=0\n" in run_program(monkeypatch, "pretrained", folder).stdout.decode()
    path = folder / "tokenizer_config.json"
    path.write_text('{"do_lower_case": "false"}')
    expected = f"pretrained: error: {path}: do_lower_case must be true or false, but is 'false'"
    assert run_program(monkeypatch, "pretrained", folder).error == expected


def test_what_is_no_folder_of_a_pretrained_model_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def error(folder: Path) -> str:
        return run_program(monkeypatch, "pretrained", folder).error

    wanted = "--from must name a work folder with manifest.json or a folder with vocab.txt and dict.txt"
    assert error(tmp_path) == f"pretrained: error: {wanted}, but is {tmp_path}"
    work = recipe(tmp_path / "work", BPE="none")
    assert (
        error(work) == f"pretrained: error: {work}/manifest.json: BPE must be one of subword_nmt, "
        "sentencepiece, characters, words, but is 'none'"
    )
    (recipe(work) / "data-bin" / "dict.txt").unlink()
    expected = "is missing: the model's own vocabulary is needed, or it would read other words"
    assert error(work) == f"pretrained: error: {work}/data-bin/dict.txt {expected}"
    recipe(work).joinpath("manifest.json").write_text("{")
    assert error(work).startswith(f"pretrained: error: {work}/manifest.json is damaged: ")
    folder = imported(tmp_path / "model")
    (folder / "tokenizer_config.json").write_text("[" * 100_000)
    assert error(folder).startswith(f"pretrained: error: {folder}/tokenizer_config.json is damaged: ")
    recipe(work).joinpath("data-bin", "dict.txt").write_bytes(b"\xef\xbb\xbfa 1\n")
    assert error(work).endswith("dict.txt:1: must begin with a word, but has a byte order mark before it")


def test_wordpiece_is_that_of_berts_own_test(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """The example of google-research/bert, tokenization_test.py."""
    vocab = imported(tmp_path / "model") / "vocab.txt"
    text = "UNwant\u00e9d,running\nunwantedX running low\tlowest\n".encode()
    done = run_program(monkeypatch, "wordpiece", "--vocab", vocab, "--lowercase", "--jobs", 1, stdin=text)
    assert done.stdout.decode() == "un ##want ##ed , runn ##ing\n<unk> runn ##ing low low ##est\n"
    cased = run_program(monkeypatch, "wordpiece", "--vocab", vocab, "--jobs", 1, stdin=b"Un low\n")
    assert cased.stdout == b"<unk> low\n"
    vocab.write_text("a\n")
    done = run_program(monkeypatch, "wordpiece", "--vocab", vocab, stdin=b"x\n")
    assert done.error == f"wordpiece: error: --vocab {vocab} must be a vocabulary of WordPiece, but has no [UNK]"
