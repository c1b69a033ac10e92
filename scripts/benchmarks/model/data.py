"""Binarized corpora: synthetic ones, and the part of a test set that is translated."""

import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from fairseq_rope_data.files import complete_folder

SOURCE, TARGET = "en", "de"
BLOCKS = 4096  # of synthetic running text


def synthetic_corpus(folder: Path, vocabulary: int, *, pairs: int, test_pairs: int) -> Path:
    """Write a corpus of random words, once; its lengths are those of news text.

    Lengths in tokens are log-normal with the median 24 and the mean 28 of newstest2014 in 37,000 BPE merges, at most
    200; a target is 0.8 to 1.25 times as long as its source. Words follow Zipf's law.

    Args:
        folder: where its folder is made.
        vocabulary: size of the joint dictionary, fairseq's four symbols included.
        pairs: sentence pairs for training.
        test_pairs: sentence pairs to translate.

    Returns: the folder of the corpus.
    """
    data = folder / f"data-{vocabulary}-{pairs}-{test_pairs}"
    if data.is_dir():
        return data
    with complete_folder(data) as part:
        dictionary, frequencies = _words(vocabulary)
        for lang in (SOURCE, TARGET):
            dictionary.save(str(part / f"dict.{lang}.txt"))
        rng = np.random.default_rng(1)
        for split, size in (("train", pairs), ("test", test_pairs)):
            source = _lengths(rng, size)
            lengths = {SOURCE: source, TARGET: np.maximum(2, (source * rng.uniform(0.8, 1.25, size)).round())}
            for lang, counts in lengths.items():
                sentences = _sentences(rng, counts, dictionary, frequencies)
                _write(part / f"{split}.{SOURCE}-{TARGET}.{lang}", sentences, vocabulary)
    return data


def synthetic_text(folder: Path, vocabulary: int, *, block: int) -> Path:
    """Write running text of random words, once: lines of `block` tokens with their end, words after Zipf's law.

    Returns: its folder, for fairseq's masked_lm.
    """
    data = folder / f"text-{vocabulary}-{block}"
    if data.is_dir():
        return data
    with complete_folder(data) as part:
        dictionary, frequencies = _words(vocabulary)
        dictionary.save(str(part / "dict.txt"))
        tokens = np.random.default_rng(1).choice(len(frequencies), (BLOCKS, block), p=frequencies) + dictionary.nspecial
        tokens[:, -1] = dictionary.eos()
        _write(part / "train", tokens, vocabulary)
    return data


def synthetic_examples(folder: Path, vocabulary: int, *, examples: int) -> Path:
    """Write sentences of random words with one of two labels, once; lengths and words are those of the corpus.

    Returns: its folder, for fairseq's sentence_prediction.
    """
    data = folder / f"examples-{vocabulary}-{examples}"
    if data.is_dir():
        return data
    with complete_folder(data) as part:
        rng = np.random.default_rng(1)
        dictionary, frequencies = _words(vocabulary)
        labels, _ = _words(dictionary.nspecial + 2)
        sentences = _sentences(rng, _lengths(rng, examples), dictionary, frequencies)
        chosen = ([labels.nspecial + label, labels.eos()] for label in rng.integers(2, size=examples))
        for name, words, lines in (("input0", dictionary, sentences), ("label", labels, map(np.array, chosen))):
            (part / name).mkdir()
            words.save(str(part / name / "dict.txt"))
            _write(part / name / "train", lines, len(words))
    return data


def _lengths(rng: Any, count: int) -> Any:
    """Draw lengths of sentences, in tokens without their end; see `synthetic_corpus`."""
    return np.clip(rng.lognormal(3.18, 0.55, count).round(), 2, 200)


def _sentences(rng: Any, lengths: Any, dictionary: Any, frequencies: Any) -> Iterator[Any]:
    """Draw sentences of these lengths, each with its end."""
    ends = lengths.astype(int).cumsum()
    tokens = dictionary.nspecial + rng.choice(len(frequencies), ends[-1], p=frequencies)
    return (np.append(line, dictionary.eos()) for line in np.split(tokens, ends[:-1]))


def _words(vocabulary: int) -> tuple[Any, Any]:
    """Return a dictionary of so many symbols, and how frequent its words are."""
    from fairseq.data import Dictionary

    dictionary = Dictionary()
    words = vocabulary - dictionary.nspecial
    for i in range(words):
        dictionary.add_symbol(f"w{i}", n=words - i)
    frequencies = 1 / (np.arange(words) + 3)
    return dictionary, frequencies / frequencies.sum()


def test_part(data: Path, folder: Path, sentences: int) -> Path:
    """Write `sentences` pairs of the test set of `data`, evenly spaced, as a corpus of their own.

    Returns: its folder, with the dictionaries of `data`; `data` itself where its test set has no more.
    """
    from fairseq.data.data_utils import infer_language_pair, load_indexed_dataset

    source, target = infer_language_pair(str(data))
    sides = {lang: load_indexed_dataset(str(data / f"test.{source}-{target}.{lang}")) for lang in (source, target)}
    count = len(sides[source])
    if count <= sentences:
        return data
    part = folder / f"{data.name}-{sentences}"
    shutil.rmtree(part, ignore_errors=True)
    with complete_folder(part) as new:
        for lang, side in sides.items():
            name = f"dict.{lang}.txt"
            shutil.copy(data / name, new)
            chosen = (side[i * count // sentences].numpy() for i in range(sentences))
            _write(new / f"test.{source}-{target}.{lang}", chosen, len((new / name).read_text().splitlines()) + 4)
    return part


def _write(path: Path, sentences: Iterable[Any], vocabulary: int) -> None:
    import torch
    from fairseq.data.indexed_dataset import make_builder

    builder = make_builder(f"{path}.bin", impl="mmap", vocab_size=vocabulary)
    for sentence in sentences:
        builder.add_item(torch.from_numpy(sentence))
    builder.finalize(f"{path}.idx")
