"""Parallel text of any size from a few real corpora: repetition with changed numbers."""

import gzip
import itertools
import random
import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

# in the folder of real corpora, each as NAME.en.gz and NAME.de.gz
CORPORA = ("europarl20k/europarl20k", "tatoeba_deu_eng/train", "wmt_newstest_ende/news*")
_NUMBER = re.compile(r"\d+")

Pair = tuple[str, str]


def real_pairs(data: Path) -> list[Pair]:
    """Return all pairs of the real corpora, shuffled, in the same order each time.

    Raises:
        FileNotFoundError: `data` has none of them.
    """
    sources = sorted(path for name in CORPORA for path in data.glob(f"{name}.en.gz"))
    if not sources:
        raise FileNotFoundError(f"{data} has none of {', '.join(CORPORA)}")
    pairs: list[Pair] = []
    for source in sources:
        target = source.with_name(source.name.replace(".en.", ".de."))
        with _open(source) as one, _open(target) as other:
            pairs += [(en.rstrip("\n"), de.rstrip("\n")) for en, de in zip(one, other, strict=True)]
    random.Random(0).shuffle(pairs)
    return pairs


def _open(path: Path) -> TextIO:
    return gzip.open(path, "rt", encoding="utf-8", newline="\n")


def repeated(pairs: list[Pair], count: int) -> Iterator[Pair]:
    """Yield `count` pairs: all as they are, then again with changed numbers, for as many rounds as it takes."""
    for number in range(count):
        turn, index = divmod(number, len(pairs))
        yield (changed(pairs[index][0], turn, index), changed(pairs[index][1], turn, index)) if turn else pairs[index]


def changed(text: str, turn: int, index: int) -> str:
    """Change a line so that repetition brings neither the same lines nor the same words only.

    Each number becomes another one of four digits or more; a line without one gets one at its end. The longest word of
    one line in four takes a number of its own, as Haus becomes Haus271828, so that word types grow by one for every two
    pairs, as in real text of this size. Both sides of a pair get the same numbers.
    """
    text, numbers = _NUMBER.subn(lambda match: _digits(f"{turn} {match[0]}", max(len(match[0]), 4)), text)
    if not numbers:
        text = f"{text} {_digits(f'{turn} {index}', 4)}"
    if index % 4 == 0:
        word = max(text.split(), key=len)
        text = text.replace(word, word + _digits(f"{turn} {index}", 6), 1)
    return text


def _digits(seed: str, length: int) -> str:
    """Return digits that depend on nothing but `seed`."""
    numbers = (str(zlib.crc32(f"{seed} {i}".encode())) for i in itertools.count())
    return "".join(itertools.islice(itertools.chain.from_iterable(number[-4:] for number in numbers), length))


def write(pairs: Iterator[Pair], folder: Path) -> int:
    """Write raw.en and raw.de; return the number of words between spaces on both sides together."""
    words = 0
    with (folder / "raw.en").open("wb") as source, (folder / "raw.de").open("wb") as target:
        for pair in pairs:
            for file, text in zip((source, target), pair, strict=True):
                file.write(f"{text}\n".encode())
                words += len(text.split())
    return words
