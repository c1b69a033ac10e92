"""data-prep/tokenise.py: what fairseq's own tokeniser gives, line for line, in order."""

import subprocess
import sys

import pytest
from fairseq.data.encoders.moses_tokenizer import MosesTokenizer, MosesTokenizerConfig

from tests.trained import ROOT

LINES = [
    "Ein schwarz-weißer Hund, z.B. am 3.10.",
    "",
    "  \t ",
    "Sie sagt: \u201eJa\u201c & geht.",
    "a\u2028b\x85c\x0bd",
    "CD's",
]


def tokenise(text: bytes, *options: str) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, str(ROOT / "data-prep" / "tokenise.py"), "--lang", "de", "--jobs", "2", *options]
    return subprocess.run(command, input=text, capture_output=True, check=False)


@pytest.mark.parametrize(
    ("options", "settings", "lower"),
    [
        ((), {}, False),
        (("--moses-no-dash-splits", "--lowercase"), {"moses_no_dash_splits": True}, True),
        (("--moses-no-escape",), {"moses_no_escape": True}, False),
    ],
)
def test_each_line_is_what_fairseqs_tokeniser_gives(options, settings, lower):
    lines = LINES * 300  # several tasks for each process
    done = tokenise("\n".join(lines).encode(), *options)
    assert done.returncode == 0, done.stderr.decode()
    moses = MosesTokenizer(MosesTokenizerConfig(source_lang="de", target_lang="de", **settings))
    expected = [moses.encode(line.lower() if lower else line) for line in LINES] * 300
    assert done.stdout.decode().split("\n")[:-1] == [" ".join(line.split()) for line in expected]


def test_invalid_utf8_is_named_by_its_line():
    done = tokenise(b"gut\n\xff\n")
    assert done.returncode != 0
    assert done.stderr.decode().splitlines()[-1].startswith("tokenise.py: error: line 2 is not UTF-8")
