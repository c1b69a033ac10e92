"""Small synthetic translations for the tests of scores: references of random words, and systems of any quality."""

import random
import subprocess
import sys
from pathlib import Path

SYLLABLES = ["ba", "de", "gi", "ko", "lu", "ma", "ne", "pi", "ro", "su", "ta", "wi"]


def sentences(count: int, *, seed: int, words: int = 12, vocabulary: int = 900) -> list[str]:
    """Sentences of up to `words` words, few of them common and most of them rare, as in a real language."""
    dice = random.Random(seed)
    lexicon = ["".join(dice.choice(SYLLABLES) for _ in range(dice.randint(2, 4))) for _ in range(vocabulary)]
    weights = [1 / (rank + 5) for rank in range(vocabulary)]
    return [" ".join(dice.choices(lexicon, weights, k=dice.randint(6, words))) + " ." for _ in range(count)]


def system(refs: list[str], *, errors: float, seed: int) -> list[str]:
    """Translations in which each word is another sentence's with probability `errors`."""
    dice = random.Random(seed)
    words = " ".join(refs).split()
    return [" ".join(dice.choice(words) if dice.random() < errors else word for word in ref.split()) for ref in refs]


def write(path: Path, lines: list[str]) -> Path:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def sacrebleu_command(*options: object) -> str:
    """What sacreBLEU's own command line prints."""
    line = [sys.executable, "-m", "sacrebleu", *map(str, options)]
    return subprocess.run(line, capture_output=True, text=True, check=True, encoding="utf-8").stdout
