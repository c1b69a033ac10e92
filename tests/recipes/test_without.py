"""--without of scripts/run_zh.sh: training text less a task's documents, its records, and bad files."""

import gzip
from pathlib import Path

import pytest

from tests.support import ROOT
from tests.support.cases import cases, write_cases
from tests.support.stubs import Stubs

SCRIPT = str(ROOT / "scripts" / "run_zh.sh")
CASES = cases(20, seed=9)
CONF = """# a validation text of a few hundred tokens
source "$ROOT/scripts/conf/zh.env"
TEST_LENGTHS=(128)
"""


@pytest.fixture
def given(tmp_path: Path) -> Path:
    """A folder with a training text, the documents of which are cases, a validation text, and the first five cases."""
    folder = tmp_path / "中 文\n"
    folder.mkdir()
    for name, found in (("train", CASES), ("valid", CASES[3:8])):
        lines = [each[letter] for each in found for letter in "ABC"]
        (folder / f"{name}.txt").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    write_cases(folder / "first.json", [{**each, "A": "\n".join(each["A"])} for each in CASES[:5]])
    (folder / "first.json.gz").write_bytes(gzip.compress((folder / "first.json").read_bytes()))
    (folder / "first.json").unlink()
    (folder / "conf.env").write_text(CONF)
    return folder


def command(given: Path, *arguments: str) -> list[str]:
    files = ["--train", str(given / "train.txt"), "--valid", str(given / "valid.txt")]
    return ["bash", SCRIPT, "--conf", str(given / "conf.env"), *files, *arguments]


def test_documents_are_left_out_of_the_training_text_alone_and_the_records_say_so(
    stubs: Stubs, given: Path, tmp_path: Path
):
    work = tmp_path / "work"
    without = ["--without", str(given / "first.json.gz")]
    done = stubs.run(work, *command(given, *without, "prepare", "--models", "roformer"))
    assert done.returncode == 0, done.stderr
    left = [each[letter] for each in CASES[5:] for letter in "ABC"]
    assert (work / "raw" / "train.zh").read_text(encoding="utf-8").split("\n") == [*left, ""]
    assert (work / "raw" / "valid.zh").read_bytes() == (given / "valid.txt").read_bytes()
    counts = (work / "raw" / "train.zh.without").read_text().strip()
    assert counts.startswith("without 15 of 60 lines, 15 of the 15 documents in 5 lines, ")
    assert f"] train.zh is {counts}\n" in done.stderr
    for name in ("text/settings", "data-bin.settings"):
        record = (work / name).read_text()
        assert record.split("\n")[1].startswith("raw/train.zh: 45 lines, ") and f", {counts}\nraw/valid.zh: " in record
    # the same files, and none
    for arguments in (command(given, *without), ["bash", SCRIPT, "--conf", str(given / "conf.env")]):
        again = stubs.run(work, *arguments, "prepare", "--models", "roformer")
        assert again.returncode == 0 and " make " not in again.stderr, again.stderr
    # other files
    write_cases(given / "first.json", CASES[:4])
    for arguments in (command(given), command(given, *without[:1], str(given / "first.json"))):
        other = stubs.run(work, *arguments, "prepare", "--models", "roformer")
        assert other.returncode == 1 and "-raw/train.zh: 45 lines, " in other.stderr, other.stderr
        assert "remove this, or choose another folder with WORK" in other.stderr


def test_text_that_nothing_was_made_of_is_taken_again_with_its_record(stubs: Stubs, given: Path, tmp_path: Path):
    raw = tmp_path / "work" / "raw"
    for arguments, lines in (([], 60), (["--without", str(given / "first.json")], 45), ([], 60)):
        done = stubs.run(raw.parent, *command(given, *arguments, "fetch", "--models", "roformer"))
        assert done.returncode == 0, done.stderr
        assert (raw / "train.zh").read_text(encoding="utf-8").count("\n") == lines
        assert (raw / "train.zh.without").exists() == (lines == 45)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (None, "--without BAD: there is no such file"),
        (b'{"A": "a", "B": "b", "C": "c"}\n{"A": "a"}\n', "BAD:2: must have A, B, C and label, but lacks B"),
        (b"good\nb\xe9d\n", "BAD:2: not valid UTF-8, byte 2 is 0xe9"),
    ],
)
def test_a_bad_file_is_named_and_nothing_is_written(
    stubs: Stubs, given: Path, tmp_path: Path, data: bytes | None, message: str
):
    bad = tmp_path / "bad"
    if data is not None:
        bad.write_bytes(data)
    done = stubs.run(tmp_path / "work", *command(given, "--without", str(given / "first.json"), str(bad)))
    assert done.returncode == 1 and message.replace("BAD", str(bad)) in done.stderr, done.stderr
    assert done.stderr.count(": error: ") == 1 and not list((tmp_path / "work").rglob("*.zh*"))


def test_text_that_was_taken_before_loses_nothing_more(stubs: Stubs, given: Path, tmp_path: Path):
    work, without = tmp_path / "work", ["--without", str(given / "first.json")]
    assert stubs.run(work, *command(given, "fetch", "--models", "roformer")).returncode == 0
    taken = (work / "raw" / "train.zh").read_bytes()
    done = stubs.run(work, "bash", SCRIPT, *without, "prepare", "--models", "roformer")
    message = "--without needs --train: text that is taken already stays as it is"
    assert done.returncode == 1 and message in done.stderr, done.stderr
    assert (work / "raw" / "train.zh").read_bytes() == taken and not (work / "text").exists()
