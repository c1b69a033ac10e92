"""Training text and the new text that `translate` reads are made by the same rules, or a model sees other words."""

import gzip
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from subword_nmt.learn_bpe import learn_bpe

from tests.support.line_codecs import line_codec
from tests.support.program import run_program

LINES = [
    "„Nein,“ sagt sie – und geht … z.B. am 3.10. um 10\u00a0000\u00a0Uhr.",
    "Der  schwarz-weiße\tHund’s   Napf (50 %): «leer»!",
    "\u200bWas\u00ad\u2028ist\x85das?\x07 \ufeffUnd das?\r",
    "a@@ b @-@ &amp; &apos; | [x] <s> ▁und▁",
    "\x0b \u2003",
    "Привет 世界 \U0001f600\u200d\U0001f525 e\u0301",
]


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """BPE codes and a sentencepiece model of a little text."""
    folder = tmp_path_factory.mktemp("models")
    text, codes, model = folder / "text", folder / "codes", folder / "model"
    text.write_text("".join(f"{line}\n" for line in LINES[:2] * 5), encoding="utf-8")
    with text.open(encoding="utf-8") as words, codes.open("w", encoding="utf-8") as file:
        learn_bpe(words, file, num_symbols=40)
    with pytest.MonkeyPatch.context() as patch:
        learn = ("learn", "--pieces", 70, "--model", model, text)
        assert run_program(patch, "sentencepiece_bpe", *learn).status == 0
    return codes, model


def prepared(bpe: str, models: tuple[Path, Path], lines: list[str]) -> list[str]:
    """What the programs make of training text."""
    first = {"subword_nmt": (), "sentencepiece": ("--tokenizer", "none")}[bpe]
    second = {
        "subword_nmt": ("apply_bpe", "--codes", models[0]),
        "sentencepiece": ("sentencepiece_bpe", "apply", "--model", models[1]),
    }[bpe]
    with pytest.MonkeyPatch.context() as patch:
        options = ("--lang", "de", "--normalize", "--lowercase", "--jobs", 1, *first)
        text = "".join(f"{line}\n" for line in lines).encode()
        tokens = run_program(patch, "tokenize", *options, stdin=text).stdout
        return run_program(patch, *second, "--jobs", 1, stdin=tokens).stdout.decode().split("\n")[:-1]


def translated(bpe: str, models: tuple[Path, Path], line: str, pieces: str) -> str:
    """What a model with these pieces in its dictionary reads when `translate` is given a line."""
    chain = {
        "subword_nmt": {"tokenizer": "moses", "bpe": "subword_nmt", "model": models[0]},
        "sentencepiece": {"bpe": "sentencepiece", "model": models[1]},
    }[bpe]
    codec = line_codec(pieces, normalize=True, lowercase=True, **chain)
    tokens = codec.encode(line.encode(), max_tokens=10_000).tokens
    return "" if tokens is None else codec.task.source_dictionary.string(tokens)


@pytest.mark.parametrize("bpe", ["subword_nmt", "sentencepiece"])
def test_a_line_has_the_same_pieces_in_training_and_in_translation(bpe: str, models: tuple[Path, Path]) -> None:
    for line, pieces in zip(LINES, prepared(bpe, models, LINES), strict=True):
        assert translated(bpe, models, line, pieces) == pieces.replace("<s>", "<unk>")


# not control characters: translate has put a space for each of them before anything else is done
texts = st.text(st.characters(exclude_categories=["Cc", "Cs"]), max_size=30)


@pytest.mark.parametrize("bpe", ["subword_nmt", "sentencepiece"])
@settings(max_examples=60, deadline=None)
@given(line=texts)
def test_any_text_has_the_same_pieces_in_both(bpe: str, models: tuple[Path, Path], line: str) -> None:
    (pieces,) = prepared(bpe, models, [line])
    assert translated(bpe, models, line, pieces) == pieces


def test_real_lines_have_the_same_pieces_in_both(data_dir: Path, models: tuple[Path, Path]) -> None:
    news = gzip.decompress((data_dir / "wmt_newstest_ende" / "newstest2014.de.gz").read_bytes()).decode().split("\n")
    for line, pieces in zip(news[:200], prepared("subword_nmt", models, news[:200]), strict=True):
        assert translated("subword_nmt", models, line, pieces) == pieces
