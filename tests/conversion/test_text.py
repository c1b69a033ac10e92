"""The text of DATA comes back as fairseq-preprocess took it, and text in another segmentation is refused."""

import shutil
from pathlib import Path

import pytest

from fairseq_rope.conversion.original import Original, read_original
from fairseq_rope.conversion.text import check_segmentation, write_text
from fairseq_rope_data.errors import UserError
from tests.support.forked import shared_server
from tests.support.originals import save_original
from tests.support.trained import call

LINES = {
    "train": {"en": ["a small hou@@ se", "two", "a a a two houses", "small"], "de": ["ein klein@@ es Haus"] * 4},
    "test": {"en": ["two hou@@ ses", "never seen a"], "de": ["ein Haus", "zwei Haus"]},
    "test1": {"en": ["small"], "de": ["klein@@ es"]},
}


@pytest.fixture
def original(tmp_path: Path) -> Original:
    """A checkpoint beside data of real text; its weights are not looked at."""
    for name, sides in LINES.items():
        for lang, lines in sides.items():
            (tmp_path / f"{name}.{lang}").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    sets = [
        f"--trainpref={tmp_path}/train",
        f"--testpref={tmp_path}/test,{tmp_path}/test1",
        f"--validpref={tmp_path}/test",
    ]
    call("fairseq_cli.preprocess", "-s", "en", "-t", "de", "--destdir", str(tmp_path / "data"), *sets)
    return read_original(save_original(tmp_path / "x.pt"), tmp_path / "data")


def read(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()


def test_all_sets_come_back_with_unknown_words_named_so(original: Original, tmp_path: Path):
    write_text(original, tmp_path / "text")
    unknown = {"en": ["two hou@@ <unk>", "<unk> <unk> a"], "de": ["ein Haus", "<unk> Haus"]}
    expected = {**LINES, "test": unknown}
    found = {path.name: read(path) for path in (tmp_path / "text").iterdir()}
    assert found == {f"{name}.{lang}": lines for name, sides in expected.items() for lang, lines in sides.items()}


def test_data_of_the_other_direction_is_read_as_well(original: Original, tmp_path: Path):
    for path in list(original.data.glob("*.en-de.*")):
        path.rename(path.with_name(path.name.replace("en-de", "de-en")))
    write_text(original, tmp_path / "text")
    assert read(tmp_path / "text" / "train.en") == LINES["train"]["en"]


def test_damaged_data_and_data_of_another_dictionary_are_named(original: Original, tmp_path: Path):
    (original.data / "test.en-de.de.idx").write_bytes(b"index")
    with pytest.raises(UserError, match=r"cannot read .*/test\.en-de\.de: "):
        write_text(original, tmp_path / "text")
    assert not list((tmp_path / "text").glob("test.*"))
    shutil.copy(original.data / "dict.de.txt", original.data / "dict.en.txt")
    fewer = read_original(original.path, original.data)
    with pytest.raises(UserError, match=r"train\.en-de\.en is of another dictionary: it has token 9, but"):
        write_text(fewer, tmp_path / "text")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("a small house or two", r"must be segmented as DATA is, but 40% of its tokens are not in .*/dict.en.txt"),
        ("", "has no text"),
    ],
)
def test_ordered_text_that_is_not_segmented_as_the_data_is_refused(
    original: Original, tmp_path: Path, line: str, message: str
):
    check_segmentation(original, str(tmp_path / "train"))
    (tmp_path / "mine.en").write_text(f"{line}\n", encoding="utf-8")
    with pytest.raises(UserError, match=f"^--ordered {tmp_path}/mine.en {message}"):
        check_segmentation(original, str(tmp_path / "mine"))


def test_text_in_order_is_looked_at_with_the_settings_alone(original: Original, tmp_path: Path):
    given = ["--from", str(original.path), "--data", str(original.data), "--ordered", str(tmp_path / "train")]
    done = shared_server().call("fairseq_rope.tools.convert", [*given, "--text", str(tmp_path / "text")], timeout=600)
    assert done.status == 1 and done.text.splitlines()[-1] == "convert: error: --ordered goes with --settings"
    assert not (tmp_path / "text").exists()
