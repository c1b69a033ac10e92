"""Numbers of tokens, ours and theirs."""

import json
from pathlib import Path

import pytest
import torch
from fairseq.data import Dictionary
from hypothesis import given, settings
from hypothesis import strategies as st

from fairseq_rope.export.huggingface.vocabulary import export_vocabulary, read_labels, read_vocabulary, write_words
from fairseq_rope_data.errors import UserError
from fairseq_rope_data.manifest import facts
from tests.support.roformers import SPECIAL, write_vocabulary

# letters, spaces that are none of ASCII, and a word of two
WORDS = st.lists(st.sampled_from(["a", "b", "##c", "好", "\u3000", "\u2028x", "a b", "", "1", "[unused1]"]), max_size=9)


@settings(max_examples=40, deadline=None)
@given(words=WORDS, order=st.randoms(use_true_random=False))
def test_a_vocabulary_comes_back_with_its_numbers(words: list[str], order, tmp_path_factory):
    folder: Path = tmp_path_factory.mktemp("vocabulary")
    tokens = [*SPECIAL, *words]
    order.shuffle(tokens)
    write_vocabulary(folder, tokens)
    vocabulary = read_vocabulary(folder / "vocab.txt", size=len(tokens))
    write_words(folder / "dict.txt", vocabulary.words())
    again = export_vocabulary(folder, size=len(tokens))
    assert again.tokens == tokens
    assert torch.equal(again.order, vocabulary.order)
    assert sorted(vocabulary.order.tolist()) == list(range(len(tokens)))
    # of equal words the last one is found, as in a tokenizer's {token: number}
    dictionary = Dictionary.load(str(folder / "dict.txt"))
    dictionary.add_symbol("<mask>")
    for word in words:
        assert tokens[vocabulary.order[dictionary.index(word)]] == word
        assert vocabulary.order[dictionary.index(word)] == max(i for i, token in enumerate(tokens) if token == word)


def test_special_tokens_stand_where_fairseq_has_them(tmp_path: Path):
    tokens = ["[PAD]", "x", "[MASK]", "[CLS]", "y", "[UNK]", "[SEP]"]
    write_vocabulary(tmp_path, tokens)
    vocabulary = read_vocabulary(tmp_path / "vocab.txt", size=7)
    assert [tokens[number] for number in vocabulary.order] == ["[CLS]", "[PAD]", "[SEP]", "[UNK]", "x", "y", "[MASK]"]
    assert vocabulary.words() == ["x", "y"]


def test_lines_may_end_as_on_windows(tmp_path: Path):
    (tmp_path / "vocab.txt").write_bytes("\r\n".join([*SPECIAL, "x", ""]).encode())
    assert read_vocabulary(tmp_path / "vocab.txt", size=6).words() == ["x"]


def test_a_folder_of_sentences_and_labels_has_its_dictionary_in_input0(tmp_path: Path):
    (tmp_path / "input0").mkdir()
    write_words(tmp_path / "input0" / "dict.txt", ["x"])
    assert export_vocabulary(tmp_path, size=6).tokens == [*SPECIAL, "x"]


def test_dictionaries_of_sentences_and_labels_are_those_that_were_recorded(tmp_path: Path):
    data = tmp_path / "data-bin"
    paths = [data / name / "dict.txt" for name in ("input0", "label")]
    for path in paths:
        path.parent.mkdir(parents=True)
        write_words(path, ["x", "y"])
    recorded = {str(path.relative_to(tmp_path)): facts(path) for path in paths}
    (tmp_path / "manifest.json").write_text(json.dumps({"files": recorded}))
    assert read_labels(data, 2) == ("x", "y") and len(export_vocabulary(data, size=7).tokens) == 7
    for path in paths:
        write_words(path, ["y", "x"])
    for path, read in zip(paths, (lambda: export_vocabulary(data, size=7), lambda: read_labels(data, 2)), strict=True):
        with pytest.raises(UserError) as error:
            read()
        assert str(error.value).startswith(f"{path} is not the file that was prepared: its SHA-256 is ")
