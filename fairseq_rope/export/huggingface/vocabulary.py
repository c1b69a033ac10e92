"""Tokens and their numbers: `vocab.txt`, a token a line, and fairseq's dictionary, whose special tokens stand apart.

| fairseq | Hugging Face | |
|---|---|---|
| `<s>` 0 | [CLS] | begins an input, and is what a classifier looks at |
| `<pad>` 1 | [PAD] | |
| `</s>` 2 | [SEP] | ends a sentence |
| `<unk>` 3 | [UNK] | |
| words | words | in the order of vocab.txt |
| `<mask>`, the last | [MASK] | fairseq's tasks add it to the dictionary |
"""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import torch
from fairseq.data import Dictionary
from torch import Tensor

from fairseq_rope.checkpoints.labels import class_names
from fairseq_rope.checkpoints.loading import brief
from fairseq_rope_data.errors import UserError, why_no_file
from fairseq_rope_data.files import check_begins_with_word, read_lines
from fairseq_rope_data.recorded import check_recorded

VOCABULARY, DICTIONARY = "vocab.txt", "dict.txt"
_MASK = "<mask>"
# fairseq's special tokens -> theirs
_SPECIAL = {"<s>": "[CLS]", "<pad>": "[PAD]", "</s>": "[SEP]", "<unk>": "[UNK]", _MASK: "[MASK]"}
# how vocabularies of BERT begin
_FIRST = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")


class Vocabulary(NamedTuple):
    """The tokens of a model, by their names at Hugging Face.

    Attributes:
        tokens: in Hugging Face's order.
        order: Hugging Face's number of each token of fairseq, (V,).
    """

    tokens: list[str]
    order: Tensor

    def number(self, token: str) -> int:
        """Return Hugging Face's number of a token."""
        return self.tokens.index(token)

    def words(self) -> list[str]:
        """Return what is no special token, in fairseq's order, which begins with four of them and ends with one."""
        return [self.tokens[number] for number in self.order[4:-1].tolist()]


def read_vocabulary(path: Path, *, size: int) -> Vocabulary:
    """Read `vocab.txt` for a model of `size` tokens.

    Raises:
        UserError: it is not there, has another size, lacks a special token or has one of fairseq's as a word.
    """
    tokens = _lines(path)
    if len(tokens) != size:
        raise UserError(f"{path} must have a line for each of {size:,} tokens of the model, but has {len(tokens):,}")
    for number, token in enumerate(tokens, 1):
        if token in _SPECIAL:
            raise UserError(f"{path}:{number}: {token} cannot be a word: it is a special token of fairseq")
        if "\r" in token:  # which ends a line for Hugging Face and fairseq
            raise UserError(f"{path}:{number}: {token!r} cannot be a word: it has a carriage return")
    for token in _SPECIAL.values():
        if tokens.count(token) != 1:
            raise UserError(f"{path} must have the special token {token} once, but has it {tokens.count(token)} times")
    *first, mask = _SPECIAL.values()
    words = [token for token in tokens if token not in _FIRST]
    return Vocabulary(tokens, _places([*first, *words, mask], tokens))


def export_vocabulary(data: Path, *, size: int) -> Vocabulary:
    """Return the vocabulary of a checkpoint with `size` tokens: in the order of DATA/vocab.txt, if that is there.

    Args:
        data: a folder of fairseq-preprocess, with `dict.txt`, or, for sentences and labels, `input0/dict.txt`.
        size: how many rows the checkpoint's embeddings have, V.

    Raises:
        UserError: no dictionary, or one that does not fit the checkpoint or `vocab.txt`, or is not as a recipe
            prepared it.
    """
    path = _dictionary_path(data)
    dictionary = _load(path)
    dictionary.add_symbol(_MASK)  # as fairseq's tasks do
    if len(dictionary) != size:
        raise UserError(f"--path has {size:,} tokens, but {path} makes {len(dictionary):,}: it is of another model")
    for symbol in dictionary.symbols:
        if symbol in _FIRST:
            raise UserError(f"{path} has the word {symbol}, which is a special token of Hugging Face")
    names = [_SPECIAL.get(symbol, symbol) for symbol in dictionary.symbols]
    vocabulary = path.parent / VOCABULARY
    if not vocabulary.is_file():
        tokens = [*_FIRST, *(name for name in names if name not in _FIRST)]
        return Vocabulary(tokens, _places(names, tokens))
    tokens = _lines(vocabulary)
    if Counter(tokens) != Counter(names):
        raise UserError(f"{vocabulary} must have the words of {path} and no others, but has not")
    return Vocabulary(tokens, _places(names, tokens))


def write_words(path: Path, words: Sequence[str]) -> None:
    """Write a dictionary of fairseq; of equal words the last one is found in a text, as by BERT's tokenizers."""
    seen: set[str] = set()
    with path.open("w", encoding="utf-8") as file:
        for word in words:
            file.write(f"{word} 1{' #fairseq:overwrite' if word in seen else ''}\n")
            seen.add(word)


def _dictionary_path(data: Path) -> Path:
    for path in (data / DICTIONARY, data / "input0" / DICTIONARY):
        if path.is_file():
            return path
    raise UserError(f"DATA must be a folder of fairseq-preprocess, but {data} has no {DICTIONARY}")


def read_labels(data: Path, count: int) -> tuple[str, ...] | None:
    """Return the names of `count` labels from DATA/label/dict.txt; None where there is none.

    Raises:
        UserError: it has fewer, or is not as a recipe prepared it.
    """
    path = data / "label" / DICTIONARY
    if not path.is_file():
        return None
    return class_names(_load(path), count, path=path)


def _load(path: Path) -> Dictionary:
    check_recorded(path)
    check_begins_with_word(path)
    try:
        return Dictionary.load(str(path))
    except Exception as error:  # a damaged dictionary has errors of its own
        raise UserError(f"cannot load {path}: {brief(error)}") from error


def _lines(path: Path) -> list[str]:
    if not path.is_file():
        raise UserError(f"cannot read {path}: {why_no_file(path)}")
    return [line.removesuffix("\r") for line in read_lines(path)]


def _places(names: Sequence[str], among: Sequence[str]) -> Tensor:
    """Return the place of each name in `among`, of equal names one after the other."""
    places = {name: place for place, name in enumerate(_numbered(among))}
    return torch.tensor([places[name] for name in _numbered(names)])


def _numbered(names: Sequence[str]) -> list[tuple[str, int]]:
    """Return each name with how many of it stand before."""
    seen: Counter[str] = Counter()
    numbered = []
    for name in names:
        numbered.append((name, seen[name]))
        seen[name] += 1
    return numbered
