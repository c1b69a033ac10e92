"""Which of fairseq's tokenizers and BPE a `LineCodec` replaces by the steps of training text, and what it remembers."""

import random
import string
from pathlib import Path

import pytest
from fairseq.data.encoders.moses_tokenizer import MosesTokenizer, MosesTokenizerConfig
from subword_nmt.apply_bpe import BPE

from fairseq_rope.inference import line_codec as module
from fairseq_rope_data import segmentation
from tests.support.line_codecs import line_codec
from tests.support.program import run_program

CODES = "#version: 0.2\nn d</w>\nu nd</w>\n"


@pytest.fixture
def codes(tmp_path: Path) -> Path:
    (tmp_path / "codes").write_text(CODES, encoding="utf-8")
    return tmp_path / "codes"


def test_remembered_words_are_bounded_in_number_and_length(codes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    splitters = []

    class Kept(segmentation.SubwordNMT):
        def __init__(self, bpe: BPE) -> None:
            super().__init__(bpe)
            splitters.append(self)

    monkeypatch.setattr(segmentation, "CACHED_WORDS", 20)
    monkeypatch.setattr(module, "SubwordNMT", Kept)
    codec = line_codec("und", bpe="subword_nmt", model=codes)
    rng = random.Random(1)
    for length in (10, 1000) * 50:
        codec.encode("".join(rng.choices(string.ascii_letters, k=length)), max_tokens=1024)
    assert len(codec.bpe.bpe.cache) == 0
    assert splitters[0]._remembered.cache_info() == (0, 50, 20, 20)  # hits, misses, limit, words


@pytest.mark.parametrize(
    ("options", "segmented"),
    [
        ({}, "Hund, und"),
        ({"tokenizer": "moses"}, "Hund , und"),
        ({"tokenizer": "space", "lowercase": True}, "hund, und"),
        ({"bpe": "subword_nmt"}, "H@@ u@@ n@@ d@@ , und"),
        ({"tokenizer": "moses", "bpe": "subword_nmt"}, "H@@ und , und"),
        ({"bpe": "characters"}, "H u n d , ▁ u n d"),
        ({"tokenizer": "moses", "bpe": "bytes"}, "H u n d ▁ , ▁ u n d"),
    ],
)
def test_every_choice_of_fairseq_can_be_made(codes: Path, options: dict[str, str], segmented: str) -> None:
    codec = line_codec("", model=codes, **options)
    assert codec.segment(" Hund,\u00a0und") == segmented


def test_a_class_that_changes_one_of_fairseqs_is_asked_itself() -> None:
    class Changed(MosesTokenizer):
        def encode(self, x: str) -> str:
            return f"{x}!"

    assert module._tokenize(Changed(MosesTokenizerConfig()))("a b") == "a b!"
    assert module._tokenize(MosesTokenizer(MosesTokenizerConfig()))("a,b") == "a , b"


def test_sentencepiece_that_samples_is_fairseqs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "text").write_text("Hund und Hunde und Hund\n" * 9, encoding="utf-8")
    learn = ("learn", "--pieces", 12, "--model", tmp_path / "model", tmp_path / "text")
    assert run_program(monkeypatch, "sentencepiece_bpe", *learn).status == 0
    sampling = {"sentencepiece_enable_sampling": True, "sentencepiece_alpha": 0.5}
    for options, kinds in (({}, 1), (sampling, 2)):
        codec = line_codec("", bpe="sentencepiece", model=tmp_path / "model", **options)
        assert min(len({codec.segment("Hund und") for _ in range(50)}), 2) == kinds
