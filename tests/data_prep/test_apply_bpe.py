"""fairseq_rope_data.apply_bpe: what `subword-nmt apply-bpe` gives, in bounded memory."""

import gzip
import io
import subprocess
import sys
from pathlib import Path

import pytest
from subword_nmt.apply_bpe import BPE
from subword_nmt.learn_bpe import learn_bpe

from fairseq_rope_data import segmentation
from tests.support.corpora import sentences
from tests.support.program import run_program

LINES = [
    *sentences(600, seed=1, vocabulary=4_000),
    "",
    "   ",
    "  zwei  Lücken  und zehn\u00a0Prozent\u2028 ",
    "Straße naïve Ελλάδα 世界 \U0001f600",
    "a@@ b @@ @-@ &apos;s &#124;",
    "x" * 300,
]


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("text") / "text"
    path.write_text("".join(f"{line}\n" for line in LINES), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def codes(text: Path) -> Path:
    with text.open(encoding="utf-8") as words, (text.parent / "codes").open("w", encoding="utf-8") as file:
        learn_bpe(words, file, num_symbols=300)
    return text.parent / "codes"


def subword_nmt(codes: Path, text: Path) -> bytes:
    """What the command of subword-nmt prints."""
    command = [sys.executable, "-m", "subword_nmt.apply_bpe", "-c", str(codes)]
    with text.open("rb") as stdin:
        return subprocess.run(command, stdin=stdin, capture_output=True, check=True).stdout


@pytest.mark.parametrize("jobs", [1, 2])
def test_each_line_is_what_subword_nmt_gives(
    monkeypatch: pytest.MonkeyPatch, codes: Path, text: Path, jobs: int
) -> None:
    done = run_program(monkeypatch, "apply_bpe", "--codes", codes, "--jobs", jobs, text)
    assert done.stdout == subword_nmt(codes, text)
    assert (done.status, done.stderr) == (0, "") and b"@@ " in done.stdout


def test_codes_of_the_first_version_of_subword_nmt_are_read_as_such(
    monkeypatch: pytest.MonkeyPatch, codes: Path, text: Path, tmp_path: Path
) -> None:
    old = tmp_path / "codes"
    merges = codes.read_text(encoding="utf-8").split("\n", 1)[1]
    old.write_text(merges, encoding="utf-8")
    done = run_program(monkeypatch, "apply_bpe", "--codes", old, "--jobs", 1, text)
    bpe = BPE(io.StringIO(merges))
    assert bpe.version == (0, 1)
    assert done.stdout.decode().split("\n")[:-1] == [bpe.process_line(line) for line in LINES]


def test_real_text_with_the_codes_of_wu_et_al_is_what_subword_nmt_gives(
    monkeypatch: pytest.MonkeyPatch, data_dir: Path, tmp_path: Path
) -> None:
    codes, text = tmp_path / "codes", tmp_path / "text"
    codes.write_bytes(gzip.decompress((data_dir / "multi30k_wu2021" / "code.gz").read_bytes()))
    news = gzip.decompress((data_dir / "wmt_newstest_ende" / "newstest2014.de.gz").read_bytes())
    text.write_bytes(news)
    done = run_program(monkeypatch, "apply_bpe", "--codes", codes, text)
    assert done.stdout == subword_nmt(codes, text) and done.stdout.count(b"\n") == 3_003


def stock(codes: Path) -> BPE:
    with codes.open(encoding="utf-8") as file:
        return BPE(file)


def test_no_more_words_are_remembered_than_the_limit(monkeypatch: pytest.MonkeyPatch, codes: Path) -> None:
    monkeypatch.setattr(segmentation, "CACHED_WORDS", 5)
    expected, bpe = stock(codes), stock(codes)
    split = segmentation.SubwordNMT(bpe)
    for line in LINES[:50]:
        assert split(line) == expected.process_line(line)
    assert len(expected.cache) > 100
    assert len(bpe.cache) == 0 and split._remembered.cache_info().currsize == 5


def test_a_word_is_split_once_and_a_very_long_one_is_not_remembered(codes: Path) -> None:
    bpe = stock(codes)
    split = segmentation.SubwordNMT(bpe)
    line = f"eins zwei eins {'x' * 41} zwei {'x' * 40}"
    assert split(line) == stock(codes).process_line(line)
    found = split._remembered.cache_info()
    assert (found.currsize, found.hits) == (3, 2)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "cannot read CODES: No such file or directory"),
        (b"", "--codes CODES holds no BPE codes"),
        (b"#version: 0.2\n", "--codes CODES holds no BPE codes"),
        (
            b"#version: 0.3\ne n</w>\n",
            "--codes CODES:1: must be one of #version: 0.1, #version: 0.2, but is '#version: 0.3'",
        ),
        (
            b"#version: 0.2\ne n</w>\ne r 512\n",
            "--codes CODES:3: a line of BPE codes must be two symbols, but is 'e r 512'",
        ),
        (b"#version: 0.2\ne n</w>\n\xff r\n", "CODES:3: not valid UTF-8, byte 1 is 0xff"),
    ],
    ids=["no file", "empty", "a version only", "a new version", "fastBPE's", "not UTF-8"],
)
def test_bad_codes_are_one_line_that_names_the_place(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, content: bytes | None, message: str
) -> None:
    codes = tmp_path / "codes"
    if content is not None:
        codes.write_bytes(content)
    done = run_program(monkeypatch, "apply_bpe", "--codes", codes, stdin=b"ein Haus\n")
    assert (done.status, done.stdout) == (1, b"")
    assert done.stderr == f"apply_bpe: error: {message}\n".replace("CODES", str(codes))
