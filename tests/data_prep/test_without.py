"""fairseq_rope_data.without: text less the documents of other files, of both forms, and files that are none."""

import gzip
import hashlib
import json
from pathlib import Path

import pytest

from tests.support.cases import cases, write_cases
from tests.support.program import run_program

CASES = cases(3, seed=6)


@pytest.fixture
def text(tmp_path: Path) -> Path:
    """A text that has one case's A and C among others, with other white space, and a blank line."""
    first, last = CASES[0]["A"], CASES[2]["C"]
    spread = [f"\u3000{first[:3]} {first[3:]}\r", f"{last[:1]}\t{last[1:]}"]
    lines = ["甲 other", spread[0], "", f"{first}。", first[:-1], spread[1], "乙"]
    path = tmp_path / "text"
    path.write_text("\n".join(lines), encoding="utf-8", newline="")
    return path


KEPT = f"甲 other\n\n{CASES[0]['A']}。\n{CASES[0]['A'][:-1]}\n乙\n".encode()


@pytest.mark.parametrize("form", ["labeled", "without labels", "a document a line", "two files"])
@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzip"])
def test_a_line_with_a_documents_characters_is_left_out_and_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: Path, form: str, packed: bool
):
    spread = [{**each, "A": "\n\n".join(each["A"])} for each in CASES]
    texts = [" ".join(each[letter]) for each in CASES for letter in "ABC"]
    files = [tmp_path / "documents"]
    if form == "a document a line":
        files[0].write_text("\n\n".join(texts), encoding="utf-8")
    elif form == "two files":
        files.append(write_cases(tmp_path / "more", spread[2:]))
        files[0].write_text("".join(f"{each}\n" for each in texts[:3]), encoding="utf-8")
    else:
        write_cases(files[0], spread, labeled=form == "labeled")
    if packed:
        for path in files:
            path.with_suffix(".gz").write_bytes(gzip.compress(path.read_bytes()))
            path.unlink()
    done = run_program(monkeypatch, "without", text, "--documents", *files)
    assert (done.status, done.stdout, done.stderr) == (0, KEPT, "")


def test_facts_are_those_of_the_text_that_is_left_with_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: Path
):
    given = write_cases(tmp_path / "documents", [*CASES, CASES[0]])
    again = tmp_path / "again"
    again.write_text(f"{CASES[0]['A']}\n", encoding="utf-8")

    def words(data: bytes) -> str:
        return f"{data.count(10)} lines, {len(data)} bytes, sha256 {hashlib.sha256(data).hexdigest()}"

    done = run_program(monkeypatch, "without", text, again, "--documents", given, "--facts")
    expected = f"{words(KEPT)}, without 3 of 7 lines, 2 of the 9 documents in {words(given.read_bytes())}\n"
    assert (done.status, done.stdout.decode()) == (0, expected), done.stderr
    kept = tmp_path / "kept"
    kept.write_bytes(KEPT)
    assert run_program(monkeypatch, "fingerprint", kept).stdout.decode() == f"{words(KEPT)}\n"


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("documents", b'{"A": "a", "B": "b", "C": "c"}\n{"A": "a", "B": "b"}\n', ":2: must have A, B, C and label,"),
        ("documents", b'\n{"A": "a", "B": "b", "C": "c"}\n', ":1: must be a JSON object: Expecting value"),
        ("documents", b"good\nb\xe9d\n", ":2: not valid UTF-8, byte 2 is 0xe9"),
        ("documents", b" \n", " has no text"),
        ("documents", "\u3000\n".encode(), " has no text"),
        ("documents", None, ": there is no such file"),
        ("text", b"good\nb\xe9d\n", ":2: not valid UTF-8, byte 2 is 0xe9"),
        ("text", None, ": there is no such file"),
    ],
)
def test_a_bad_file_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: Path, name: str, data: bytes | None, message: str
):
    write_cases(tmp_path / "documents", CASES)
    bad = tmp_path / name
    bad.unlink()
    if data is not None:
        bad.write_bytes(data)
    done = run_program(monkeypatch, "without", text, "--documents", tmp_path / "documents")
    assert done.status == 1 and done.error.startswith(f"without: error: {bad}{message}"), done.error


@pytest.mark.parametrize("options", [[], ["--facts"]])
def test_a_text_of_nothing_else_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: list[str]):
    (tmp_path / "text").write_text("a\n\nb b\na\n")
    done = run_program(monkeypatch, "without", tmp_path / "text", "--documents", tmp_path / "text", *options)
    message = "nothing is left: all 3 lines of the text are documents of --documents"
    assert (done.status, done.error) == (1, f"without: error: {message}")


def test_the_judgments_lose_all_documents_of_the_sample_of_similar_cases(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch
):
    sample = data_dir / "cail2019_scm_sample" / "input.json.gz"
    judgments = data_dir / "zh_legal_text" / "zh_legal.txt.gz"
    done = run_program(monkeypatch, "without", judgments, "--documents", sample, "--facts")
    assert done.stdout.startswith(b"1997 lines, ") and b", without 227 of 2224 lines, 227 of the 227 " in done.stdout
    left = run_program(monkeypatch, "without", judgments, "--documents", sample).stdout
    given = [json.loads(line) for line in gzip.decompress(sample.read_bytes()).decode().splitlines()]
    assert not {"".join(each[letter].split()) for each in given for letter in "ABC"} & {*left.decode().split("\n")}
