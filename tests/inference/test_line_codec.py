"""What a `LineCodec` remembers between lines."""

import random
import string

import pytest

from fairseq_rope.inference import line_codec
from fairseq_rope.inference.translator import Translator
from tests.support.trained import Trained


def test_remembered_words_are_bounded_by_their_length(trained: Trained, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(line_codec, "_REMEMBERED_CHARS", 20_000)
    codec = Translator.from_args(trained.options()).codec
    rng = random.Random(1)
    most = 0
    for _ in range(100):
        codec.encode("".join(rng.choices(string.ascii_letters, k=1000)), max_tokens=1024)
        most = max(most, sum(len(word) for word in codec.bpe.bpe.cache))
    # with the line that is too much
    assert 10_000 < most <= 21_000
