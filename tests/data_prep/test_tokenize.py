"""fairseq_rope_data.tokenize: what fairseq's own tokenizer and normalize give, line for line, in order."""

import subprocess
import sys
from pathlib import Path

import pytest
from fairseq.data.encoders.moses_tokenizer import MosesTokenizer, MosesTokenizerConfig

from fairseq_rope_data.normalize import normalizer
from tests.support.program import run_program

LINES = [
    "Ein schwarz-weißer Hund, z.B. am 3.10.",
    "",
    "  \t ",
    "Sie sagt: \u201eJa\u201c & geht.",
    "a\u2028b\x85c\x0bd",
    "CD's",
    "10\u00a0000\u00a0% \u2026 \u00abso\u00bb",
]
TEXT = "".join(f"{line}\n" for line in LINES).encode()


@pytest.mark.parametrize(
    ("options", "settings", "lower"),
    [
        ((), {}, False),
        (("--moses-no-dash-splits", "--lowercase"), {"moses_no_dash_splits": True}, True),
        (("--moses-no-escape",), {"moses_no_escape": True}, False),
    ],
    ids=["defaults", "no dash splits, lower case", "no escapes"],
)
def test_each_line_is_what_fairseqs_tokenizer_gives(monkeypatch, options, settings, lower):
    done = run_program(monkeypatch, "tokenize", "--lang", "de", "--jobs", "1", *options, stdin=TEXT)
    moses = MosesTokenizer(MosesTokenizerConfig(source_lang="de", target_lang="de", **settings))
    expected = [moses.encode(line.lower() if lower else line) for line in LINES]
    assert done.stdout.decode().split("\n")[:-1] == [" ".join(line.split()) for line in expected]


def test_normalization_comes_before_white_space_is_joined_and_before_the_tokenizer(monkeypatch):
    done = run_program(monkeypatch, "tokenize", "--lang", "de", "--normalize", "--jobs", "1", stdin=TEXT)
    normalize = normalizer("de")
    moses = MosesTokenizer(MosesTokenizerConfig(source_lang="de", target_lang="de"))
    expected = [" ".join(moses.encode(" ".join(normalize(line).split())).split()) for line in LINES]
    assert done.stdout.decode().split("\n")[:-1] == expected
    assert expected[3] == "Sie sagt : &quot; Ja &quot; &amp; geht ."
    assert expected[6] == "10,000 % ... &quot; so &quot;"


@pytest.mark.parametrize("normalize", ["--normalize", "--normalise"])
def test_without_a_tokenizer_only_white_space_case_and_punctuation_change(monkeypatch, normalize):
    options = ("--lang", "de", normalize, "--lowercase", "--tokenizer", "none", "--jobs", "1")
    done = run_program(monkeypatch, "tokenize", *options, stdin=TEXT)
    assert done.stdout.decode().split("\n")[:-1] == [
        "ein schwarz-weißer hund, z.b. am 3.10.",
        "",
        "",
        'sie sagt: "ja" & geht.',
        "a b c d",
        "cd's",
        '10,000% ... "so"',
    ]


def test_a_file_is_read_as_stdin_is_and_the_number_of_jobs_changes_nothing(tmp_path: Path):
    path = tmp_path / "train.de"
    path.write_bytes(TEXT * 150)
    command = [sys.executable, "-m", "fairseq_rope_data.tokenize", "--lang", "de", "--jobs"]
    file = subprocess.run([*command, "2", str(path)], capture_output=True, check=True)
    with path.open("rb") as stdin:
        stream = subprocess.run([*command, "1"], stdin=stdin, capture_output=True, check=True)
    assert file.stdout == stream.stdout and file.stdout.count(b"\n") == 150 * len(LINES)
    assert file.stderr == stream.stderr == b""


def test_a_language_whose_abbreviations_are_unknown_is_told(monkeypatch):
    done = run_program(monkeypatch, "tokenize", "--lang", "tlh", "--jobs", "1", stdin=b"Qapla' Mr. Worf.\n")
    assert (done.status, done.stdout) == (0, b"Qapla &apos; Mr. Worf .\n")
    assert done.stderr == "tokenize: abbreviations of tlh are unknown, those of en are used\n"
    done = run_program(monkeypatch, "tokenize", "--lang", "tlh", "--tokenizer", "none", stdin=b"Qapla'\n")
    assert (done.stdout, done.stderr) == (b"Qapla'\n", "")


@pytest.mark.parametrize(
    ("arguments", "stdin", "message"),
    [
        (["--jobs", "1"], b"gut\n\xff\n", "stdin:2: not valid UTF-8, byte 1 is 0xff"),
        (["--jobs", "2"], b"gut\n\xff\n", "stdin:2: not valid UTF-8, byte 1 is 0xff"),
        (["--jobs", "0"], b"gut\n", "--jobs must be at least 1, but is 0"),
        (["/no/file"], b"", "cannot read /no/file: No such file or directory"),
    ],
    ids=["invalid UTF-8", "invalid UTF-8, two jobs", "no job", "no file"],
)
def test_a_bad_input_is_one_line_that_names_it(monkeypatch, arguments, stdin, message):
    done = run_program(monkeypatch, "tokenize", "--lang", "de", *arguments, stdin=stdin)
    assert (done.status, done.stderr) == (1, f"tokenize: error: {message}\n")
