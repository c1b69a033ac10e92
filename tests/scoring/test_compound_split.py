"""Compound-split BLEU: the papers' command, sacreBLEU's command line and the published lengths are the oracles."""

import gzip
import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from fairseq.data.encoders.moses_tokenizer import MosesTokenizer, MosesTokenizerConfig
from hypothesis import given
from hypothesis import strategies as st

from fairseq_rope.scoring.compound_split import (
    check_no_split_hyphens,
    compound_split_bleu,
    moses_tokens,
    split_compounds,
)
from fairseq_rope.scoring.metrics import sacre_bleu
from fairseq_rope.scoring.text import Text
from fairseq_rope_data.errors import UserError
from tests.support.corpora import sacrebleu_command, write

SPLIT = " ##AT##-##AT## "
HYPS = [
    "Die schwarz-rot-goldene Fahne weht - wie immer - am Bahnhof.",
    'Er sagte: "Das E-Mail-Programm ist\'s!" & ging.',
    "Am 12. Mai kamen z. B. die A-B-C-Schützen.",
]
REFS = [
    "Die schwarz-rot-goldene Flagge weht wie immer am Nord-Bahnhof.",
    'Er sagte: "Das E-Mail-Programm ist es!" & ging weg.',
    "Am 12. Mai kamen z. B. die A-B-C-Schützen.",
]


def split_slowly(line: str) -> str:
    """From left to right: a hyphen between two bytes, none of which an earlier match has taken, is split."""
    data, out, i = line.encode(), b"", 0
    while i < len(data):
        if data[i + 1 : i + 2] == b"-" and not data[i : i + 1].isspace() and data[i + 2 : i + 3].strip():
            out += data[i : i + 1] + SPLIT.encode() + data[i + 2 : i + 3]
            i += 3
        else:
            out += data[i : i + 1]
            i += 1
    return out.decode()


@pytest.mark.parametrize(
    ("tokens", "split"),
    [
        ("schwarz-rot-gold", f"schwarz{SPLIT}rot{SPLIT}gold"),
        ("a-b-c", f"a{SPLIT}b-c"),
        ("ä-ö-ü", f"ä{SPLIT}ö{SPLIT}ü"),
        ("a--b", f"a{SPLIT}-b"),
        ("a - b -c d-", "a - b -c d-"),
    ],
)
def test_hyphens_inside_words_are_split(tokens: str, split: str) -> None:
    assert split_compounds([tokens]) == [split]


@given(st.text("aü-. ", max_size=12))
def test_hyphens_are_split_in_one_pass_from_the_left(line: str) -> None:
    assert split_compounds([line]) == [split_slowly(line)]


@pytest.mark.skipif(shutil.which("perl") is None, reason="no perl")
def test_hyphens_are_split_as_the_papers_command_does() -> None:
    lines = [*HYPS, "a-b-c-d", "x--y---z", "- a -b c- -", "ä-ö-ü", "1-2-3,4-5"]
    command = ["perl", "-ple", r"s{(\S)-(\S)}{$1 ##AT##-##AT## $2}g"]
    done = subprocess.run(command, input="\n".join(lines), capture_output=True, text=True, check=True)
    assert split_compounds(lines) == done.stdout.splitlines()


@pytest.mark.parametrize("lowercase", [False, True])
def test_the_score_is_that_of_sacrebleus_command_on_tokens_made_another_way(lowercase: bool, tmp_path: Path) -> None:
    settings = MosesTokenizerConfig(source_lang="de", target_lang="de", moses_no_dash_splits=True, moses_no_escape=True)
    moses = MosesTokenizer(settings)
    lines = {"hyps": [HYPS[0].upper(), *HYPS[1:]], "refs": REFS}
    files = {
        name: write(tmp_path / name, [split_slowly(moses.encode(line)) for line in text])
        for name, text in lines.items()
    }
    options = ["--tokenize", "none", "--force", "--smooth-method", "none", *(["--lowercase"] if lowercase else [])]
    theirs = json.loads(sacrebleu_command(files["refs"], "--input", files["hyps"], "--width", 2, *options))
    ours = compound_split_bleu(lines["hyps"], REFS, target_lang="de", lowercase=lowercase)
    assert ours.text.startswith(f"compound-split BLEU = {theirs['score']:.2f} {theirs['verbose_score']}; ")
    assert round(ours.value, 2) == theirs["score"] and 0 < ours.value < 100
    for setting in theirs["signature"].replace("tok:none|", "").split("|"):
        assert setting in ours.signature.split("|")


def test_the_signature_names_every_setting() -> None:
    signature = compound_split_bleu(HYPS, REFS, target_lang="de").signature
    form = r"nrefs:1\|case:mixed\|eff:no\|tok:moses-de-no_dash_splits-no_escape-compound_split\|smooth:none\|"
    assert re.fullmatch(form + r"version:[\d.]+\|sacremoses:[\d.]+", signature)


def test_there_is_no_smoothing() -> None:
    assert compound_split_bleu(["a b c x"], ["a b c d"], target_lang="de").value == 0


def test_moses_follows_the_rules_of_the_language() -> None:
    assert moses_tokens(["Am 12. Mai, z.B. hier."], "de") == ["Am 12. Mai , z.B. hier ."]
    assert moses_tokens(["a-b & [c's]"], "de") == ["a-b & [ c ' s ]"]
    assert moses_tokens(["d'un"], "fr") != moses_tokens(["d'un"], "de")


@pytest.mark.parametrize("token", ["@-@", "##AT##-##AT##"])
def test_text_that_is_split_already_is_refused(token: str) -> None:
    bad = [REFS[0], f"schwarz {token} rot", REFS[2]]
    with pytest.raises(UserError, match=rf"^hypotheses:2: hyphens are split already \({token}\): compound-split"):
        compound_split_bleu(bad, REFS, target_lang="de")
    with pytest.raises(UserError, match=r"^references:2: hyphens are split already"):
        compound_split_bleu(HYPS, bad, target_lang="de")
    check_no_split_hyphens(Text("raw", ["a-b", "x@-@y", "@ - @"]))  # what no tokenizer makes is text


def test_newstest2014_has_the_published_lengths(data_dir: Path) -> None:
    data = gzip.decompress((data_dir / "wmt_newstest_ende" / "newstest2014.de.gz").read_bytes())
    lines = data.decode().removesuffix("\n").split("\n")
    assert len(lines) == 3003
    text = compound_split_bleu(lines, lines, target_lang="de").text
    assert text.startswith("compound-split BLEU = 100.00 ")
    assert "ref_len = 64496)" in text and text.endswith("before the split: 63078")
    assert "ref_len = 62688)" in sacre_bleu(lines, lines, target_lang="de").text
