"""Text for an imported model is split as its own tokenizer does: Hugging Face's of RoFormer, with Chinese words."""

from pathlib import Path

import pytest

from fairseq_rope_data.chinese import has_words
from fairseq_rope_data.wordpiece import splitter

_WORDS = "[PAD] [UNK] [CLS] [SEP] [MASK] 今天 天气 非常 好 今 天 气 。 ， abc ab ##c ##d ##天 2015 年 20 ##15 e"
WORDS = _WORDS.split()
LINES = [
    "今天天气非常好。",
    "今天 天气，ABC abcd 2015年，2016",
    "好天气 ab天 Éc  e\u0301",
    "原告 。。 非常非常",
    "",
]


@pytest.mark.parametrize("lowercase", [True, False])
def test_chinese_words_are_those_of_hugging_faces_tokenizer(transformers: None, tmp_path: Path, lowercase: bool):
    from transformers import RoFormerTokenizer

    (tmp_path / "vocab.txt").write_text("".join(f"{word}\n" for word in WORDS), encoding="utf-8")
    vocabulary = {word: number for number, word in enumerate(WORDS)}
    oracle = RoFormerTokenizer(vocab=vocabulary, do_lower_case=lowercase)
    split = splitter(tmp_path / "vocab.txt", lowercase=lowercase)
    for line in LINES:
        theirs = ["<unk>" if piece == "[UNK]" else piece for piece in oracle.tokenize(line)]
        assert split(line).split() == theirs, line
    assert "今天 天气 非常 好".replace(" ", "") in LINES[0] and has_words(WORDS) and not has_words(["今", "##天", "ab"])
