"""fairseq_rope_data.windows: lines come out as they went in, none crosses a document, bad input is refused."""

import json
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fairseq_rope_data.errors import UserError
from fairseq_rope_data.window_index import SEPARATOR, check_separator, holds, join, parts, read_index, split
from tests.support.program import Done, run_program

WORDS = st.text(st.characters(exclude_categories=("Cs", "Cc"), exclude_characters="\u2028\u2029<"), max_size=12)
LINE = WORDS.map(str.strip)
BOTH = ("--source-lang", "en", "--target-lang", "de")


def write(path: Path, lines: list[str]) -> Path:
    path.write_bytes("".join(f"{line}\n" for line in lines).encode())
    return path


def read(path: Path) -> list[str]:
    return path.read_bytes().decode().split("\n")[:-1]


def make(monkeypatch: pytest.MonkeyPatch, folder: Path, *options: object) -> Done:
    """Run it from folder/in to folder/out."""
    return run_program(monkeypatch, "windows", "make", *options, folder / "in", folder / "out")


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """Twelve pairs in two documents, with a blank line between them."""
    for lang in ("en", "de"):
        write(tmp_path / f"in.{lang}", [f"{lang} {i}" if i != 7 else "" for i in range(1, 13)])
    return tmp_path


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    lines=st.lists(LINE, min_size=1, max_size=20).filter(any),
    size=st.integers(1, 6),
    seed=st.none() | st.integers(0, 99),
    documents=st.lists(st.integers(0, 1), min_size=20, max_size=20),
)
def test_windows_split_again_are_the_lines(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    lines: list[str],
    size: int,
    seed: int | None,
    documents: list[int],
) -> None:
    write(tmp_path / "in.en", lines)
    write(tmp_path / "in.de", [line[::-1] for line in lines])
    names = write(tmp_path / "names", [str(name) for name in documents[: len(lines)]])
    options = ["--size", size, "--documents", names, *([] if seed is None else ["--random", "--seed", seed])]
    done = make(monkeypatch, tmp_path, *BOTH, *options)
    assert (done.status, done.stderr) == (0, "")
    index = read_index(tmp_path / "out.windows.tsv")
    assert index.lines == len(lines) and len(index.windows) == len(read(tmp_path / "out.en"))
    for first, count in index.windows:
        assert 1 <= count <= size and len(set(documents[first - 1 : first - 1 + count])) == 1
        assert all(lines[first - 1 : first - 1 + count])
    for lang, expected in (("en", lines), ("de", [line[::-1] for line in lines])):
        again = run_program(
            monkeypatch, "windows", "split", "--index", tmp_path / "out.windows.tsv", tmp_path / f"out.{lang}"
        )
        assert (again.status, again.stderr) == (0, "")
        assert again.stdout.decode().split("\n")[:-1] == [line.strip() for line in expected]


def test_a_window_ends_where_a_line_is_blank_and_the_last_one_is_shorter(
    monkeypatch: pytest.MonkeyPatch, corpus: Path
) -> None:
    done = make(monkeypatch, corpus, *BOTH, "--size", 4)
    assert done.stdout == b"11 lines in windows: 1 of 1, 1 of 2, 2 of 4 lines\n"
    assert read(corpus / "out.de") == [
        "de 1 <sep> de 2 <sep> de 3 <sep> de 4",
        "de 5 <sep> de 6",
        "de 8 <sep> de 9 <sep> de 10 <sep> de 11",
        "de 12",
    ]
    assert (corpus / "out.windows.tsv").read_text() == "separator\t<sep>\n1\t4\n5\t2\n8\t4\n12\t1\nlines\t12\n"


def test_one_side_alone_and_another_separator(monkeypatch: pytest.MonkeyPatch, corpus: Path) -> None:
    (corpus / "in.de").unlink()
    assert make(monkeypatch, corpus, "--source-lang", "en", "--size", 6, "--separator", "|||").status == 0
    assert read(corpus / "out.en")[0] == " ||| ".join(f"en {i}" for i in range(1, 7))
    assert sorted(path.name for path in corpus.iterdir()) == ["in.en", "out.en", "out.windows.tsv"]


def test_with_singles_each_line_is_there_once_alone_and_once_with_others(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    lines = [f"line {i}" for i in range(1, 91)]
    write(tmp_path / "in.en", lines)
    assert make(monkeypatch, tmp_path, "--source-lang", "en", "--size", 3, "--random", "--singles").status == 0
    found = [parts(text, SEPARATOR) for text in read(tmp_path / "out.en")]
    assert [part for part in found if len(part) == 1] == [[line] for line in lines]
    # of the last window one line may have been left
    assert [line for part in found if len(part) > 1 for line in part] in (lines, lines[:-1])
    assert {len(part) for part in found} == {1, 2, 3}


def test_random_sizes_are_even_and_the_same_for_a_seed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    write(tmp_path / "in.en", [f"line {i}" for i in range(12_000)])
    texts = []
    for seed in (1, 1, 2):
        options = ("--source-lang", "en", "--size", 4, "--random", "--seed", seed, "--any-order")
        assert make(monkeypatch, tmp_path, *options).status == 0
        texts.append((tmp_path / "out.en").read_bytes())
    assert texts[0] == texts[1] != texts[2]
    sizes = Counter(window.lines for window in read_index(tmp_path / "out.windows.tsv").windows)
    # 4,800 windows; five standard deviations of a quarter of them are 150
    assert all(abs(sizes[size] - sum(sizes.values()) / 4) < 150 for size in (1, 2, 3, 4))


@pytest.mark.parametrize(
    ("texts", "options", "message"),
    [
        ({"de": ["eins", "a <sep> b"]}, (), "DIR/in.de:2: the text holds the separator <sep>: choose another --sep"),
        ({"en": ["<@@ sep@@ >", "x"]}, (), "DIR/in.en:1: the text holds the separator <sep>: "),
        ({"en": ["\u2581< sep >", "x"]}, (), "DIR/in.en:1: the text holds the separator <sep>: "),
        ({"de": ["eins", " \u00a0"]}, (), "DIR/in.de:2: is blank, but DIR/in.en:2 is not: clean_corpus --leave-blank"),
        ({"de": ["eins"]}, (), "DIR/in.de:2: there is no such line, but DIR/in.en has one"),
        ({"en": ["", ""], "de": ["", ""]}, (), "DIR/in.en has no line for a window"),
        ({}, ("--documents", "no/names"), "cannot read no/names: No such file or directory"),
        ({}, ("--size", 0), "--size must be at least 1, but is 0"),
        ({}, ("--size", 1, "--singles"), "--size must be at least 2, but is 1"),
        ({}, ("--separator", "</s>"), "--separator must be a token without white space"),
        ({}, ("--target-lang", "en"), "--source-lang and --target-lang must differ, but are both en"),
    ],
)
def test_bad_input_is_refused_by_name_and_leaves_nothing(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    texts: dict[str, list[str]],
    options: tuple[object, ...],
    message: str,
) -> None:
    for lang, lines in {"en": ["one", "two"], "de": ["eins", "zwei"], **texts}.items():
        write(tmp_path / f"in.{lang}", lines)
    done = make(monkeypatch, tmp_path, *BOTH, "--size", 2, *options)
    assert (done.status, done.stdout) == (1, b"")
    assert done.error.startswith(f"windows: error: {message}".replace("DIR", str(tmp_path)))
    assert {path.name for path in tmp_path.iterdir()} == {"in.en", "in.de"}


def test_text_and_names_of_documents_are_not_written_over(monkeypatch: pytest.MonkeyPatch, corpus: Path) -> None:
    write(corpus / "out.windows.tsv", ["a"] * 12)
    (corpus / "out.de").symlink_to("in.de")
    before = {path.name: path.read_bytes() for path in corpus.iterdir()}
    done = make(monkeypatch, corpus, *BOTH, "--size", 2)
    assert (
        done.error == f"windows: error: {corpus}/out.de would be written in the place of {corpus}/in.de, which is read"
    )
    names = corpus / "out.windows.tsv"
    done = make(monkeypatch, corpus, "--source-lang", "en", "--size", 2, "--documents", names)
    assert done.error == f"windows: error: {names} would be written in the place of {names}, which is read"
    assert {path.name: path.read_bytes() for path in corpus.iterdir()} == before


def test_a_document_file_of_another_length_is_refused(monkeypatch: pytest.MonkeyPatch, corpus: Path) -> None:
    names = write(corpus / "names", ["a"] * 11)
    done = make(monkeypatch, corpus, *BOTH, "--size", 2, "--documents", names)
    assert done.error.startswith(f"windows: error: {names}:12: there is no such line, but {corpus}/in.en has one")


def test_text_of_which_lines_were_dropped_is_refused_but_not_where_they_left_blanks(
    monkeypatch: pytest.MonkeyPatch, corpus: Path
) -> None:
    for lang in ("en", "de"):
        write(corpus / f"raw.{lang}", ["a b", "c " * (9 if lang == "en" else 2), "", "d e", "f g"])
    dropped = run_program(monkeypatch, "clean_corpus", *BOTH, corpus / "raw", corpus / "in")
    assert dropped.status == 0
    done = make(monkeypatch, corpus, *BOTH, "--size", 4)
    assert done.error == (
        f"windows: error: {corpus}/in.clean.json: 2 of 5 pairs were dropped, so lines are no neighbors any more: "
        "use clean_corpus --leave-blank, or here --any-order"
    )
    assert make(monkeypatch, corpus, *BOTH, "--size", 4, "--any-order").status == 0
    assert read(corpus / "out.en") == ["a b <sep> d e <sep> f g"]
    kept = run_program(monkeypatch, "clean_corpus", *BOTH, "--leave-blank", corpus / "raw", corpus / "in")
    assert kept.stdout == dropped.stdout and read(corpus / "in.de") == ["a b", "", "", "d e", "f g"]
    assert json.loads((corpus / "in.clean.json").read_text())["left_blank"] is True
    assert make(monkeypatch, corpus, *BOTH, "--size", 4).status == 0
    assert read(corpus / "out.en") == ["a b", "d e <sep> f g"]


@pytest.mark.parametrize("text", ["{", "[]", '{"read": 5}', "\xff", "[" * 100_000])
def test_a_damaged_report_of_cleaning_is_named(monkeypatch: pytest.MonkeyPatch, corpus: Path, text: str) -> None:
    (corpus / "in.clean.json").write_text(text, encoding="latin-1")
    done = make(monkeypatch, corpus, *BOTH, "--size", 4)
    assert done.status == 1 and done.error.startswith(f"windows: error: {corpus}/in.clean.json is damaged: ")


@pytest.mark.parametrize("lang", ["en", "de"])
def test_a_separator_is_found_in_raw_text_of_either_side(
    monkeypatch: pytest.MonkeyPatch, corpus: Path, lang: str
) -> None:
    lines = read(corpus / f"in.{lang}")
    write(corpus / f"in.{lang}", [*lines[:10], "a < sep> b", *lines[11:]])
    done = run_program(monkeypatch, "windows", "check", *BOTH, corpus / "in")
    message = f"{corpus}/in.{lang}:11: the text holds the separator <sep>: choose another --separator"
    assert (done.status, done.error) == (1, f"windows: error: {message}")
    assert run_program(monkeypatch, "windows", "check", *BOTH, "--separator", "|", corpus / "in").status == 0


@settings(deadline=None)
@given(st.lists(LINE, min_size=1, max_size=8), st.integers(1, 8))
def test_a_split_has_as_many_lines_as_its_window_and_loses_no_word(lines: list[str], wanted: int) -> None:
    text = join(lines, SEPARATOR)
    found = split(text, SEPARATOR, wanted)
    assert len(found.lines) == wanted and found.found == len(lines)
    assert " ".join(found.lines).split() == " ".join(lines).split()
    if wanted == len(lines):
        assert found.lines == lines


INDEX = "separator\t<sep>\n1\t3\n5\t2\nlines\t6\n"


@pytest.mark.parametrize(
    ("text", "lines", "message"),
    [
        (
            "a <sep> b\nd <sep> e\n",
            "a,b,,,d,e",
            "1 of 2 windows have another number of sentences, the first FILE:1 has 2",
        ),
        ("a <sep> b <sep> c\n<sep> d <sep> <sep> e\n", "a,b,c,,,d e", "the first FILE:2 has 4 and not 2"),
        ("a<sep> b <sep>c\nd <sep>\n", "a,b,c,,d,", ""),
    ],
)
def test_another_number_of_sentences_is_counted_and_shifts_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, text: str, lines: str, message: str
) -> None:
    (tmp_path / "index").write_text(INDEX)
    (tmp_path / "hyps").write_text(text)
    done = run_program(monkeypatch, "windows", "split", "--index", tmp_path / "index", tmp_path / "hyps")
    assert done.status == 0 and done.stdout.decode().split("\n")[:-1] == lines.split(",")
    assert message.replace("FILE", str(tmp_path / "hyps")) in done.error and bool(done.error) == bool(message)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a <sep> b <sep> c\n", "FILE has 1 windows, but INDEX 2"),
        ("a\nb\nc\n", "FILE:3: there is no such window, but 2 in INDEX"),
    ],
)
def test_windows_of_another_text_are_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, text: str, message: str
) -> None:
    (tmp_path / "index").write_text(INDEX)
    (tmp_path / "hyps").write_text(text)
    done = run_program(monkeypatch, "windows", "split", "--index", tmp_path / "index", tmp_path / "hyps")
    expected = message.replace("FILE", str(tmp_path / "hyps")).replace("INDEX", str(tmp_path / "index"))
    assert (done.status, done.stdout, done.error) == (1, b"", f"windows: error: {expected}")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is no whole index of windows"),
        ("separator\t<sep>\n1\t3\n", "is no whole index"),
        ("1\t3\nlines\t3\n", "is no whole index"),
        ("separator\t<sep>\n1\t2\t3\nlines\t3\n", "is no whole index"),
        ("separator\ta b\n1\t3\nlines\t3\n", ":1: the separator must be a token"),
        ("separator\t<sep>\n1\t3\n4\tx\nlines\t5\n", ":3: must be a line's number and how many, of 5"),
        ("separator\t<sep>\n1\t3\n4\t3\nlines\t5\n", ":3: must be a line's number"),
        (f"separator\t<sep>\n1\t3\nlines\t{'5' * 14}\n", ":2: must be a line's number"),
        (f"separator\t<sep>\n1\t3\nlines\t{'5' * 5000}\n", ":2: must be a line's number"),
        ("separator\t<sep>\n1\t3\n3\t1\nlines\t5\n", ":3: line 3 is in an earlier window too"),
    ],
)
def test_a_damaged_index_is_named(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "index").write_text(text)
    with pytest.raises(UserError) as error:
        read_index(tmp_path / "index")
    assert message in str(error.value) and str(tmp_path / "index") in str(error.value)


@pytest.mark.parametrize("bad", ["", " ", "a b", "a\n", "<unk>", "x@@", "\u2581x", "\x07"])
def test_what_can_be_no_token_is_no_separator(bad: str) -> None:
    with pytest.raises(UserError, match=r"^--separator must be a token without white space"):
        check_separator(bad, "--separator")


def test_a_separator_is_seen_through_bpe() -> None:
    assert holds("a<sep>", "<sep>") and holds("<s@@ ep@@ >", "<sep>") and holds("\u2581 <s ep>", "<sep>")
    assert not holds("a &lt;sep&gt; b", "<sep>")
