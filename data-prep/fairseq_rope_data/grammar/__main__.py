"""Write a small English-German corpus, made from a grammar, as raw text.

It needs no download and no licence, and word order matters in it: the German verb stands second, first or last, its
prefix separates, time stands before manner and place, and articles and adjectives agree. The German is a function of
the English. It is the same, byte for byte, on every Python and machine.

Writes OUTDIR/{train,valid,test,long}.{en,de}: 24,000, 1,000, 1,000 and 500 pairs. No pair, and no sentence of either
language, is in two parts. Words of the other parts are all in train. Each sentence of `long` has 1.3 to 2 times
the tokens of the longest in train, in both languages. Running again writes the same files. Takes about ten seconds.

Example: python -m fairseq_rope_data.grammar data/grammar
"""

from collections.abc import Callable, Iterator
from pathlib import Path

from fairseq_rope_data import cli
from fairseq_rope_data.errors import UserError, run
from fairseq_rope_data.files import complete_file
from fairseq_rope_data.grammar.dice import Dice
from fairseq_rope_data.grammar.mixture import long, ordinary
from fairseq_rope_data.grammar.text import tokens

SEED = 2104
SIZES = {"train": 24_000, "valid": 1_000, "test": 1_000, "long": 500}
SPARE = 1_000  # pairs beyond the three parts, to replace those with words that train lacks
MAX_TOKENS = 24
LONG_TOKENS = range(32, 49)  # 1.3 to 2 times the longest of train

Pair = tuple[str, str]


def distinct(draw: Callable[[Dice], Pair], dice: Dice, lengths: range, seen: dict[str, str]) -> Iterator[Pair]:
    """Yield pairs whose sentences are new in both languages and have these lengths; `seen` keeps English to German.

    Raises:
        ValueError: one English sentence came with two German ones, a fault of the grammar.
    """
    seen_german = set(seen.values())
    while True:
        source, target = draw(dice)
        if len(tokens(source)) not in lengths or len(tokens(target)) not in lengths:
            continue
        if source in seen:
            if seen[source] != target:
                raise ValueError(f"one sentence must have one translation, but {source!r} has two: {target!r}")
            continue
        if target in seen_german:
            continue
        seen[source] = target
        seen_german.add(target)
        yield source, target


def words(pair: Pair) -> set[tuple[int, str]]:
    """Return the words of a pair, each with its language, as written."""
    return {(side, word) for side, text in enumerate(pair) for word in tokens(text)}


def corpus() -> dict[str, list[Pair]]:
    """Return the four parts."""
    dice, seen = Dice(SEED), dict[str, str]()
    stream = distinct(ordinary, dice, range(3, MAX_TOKENS + 1), seen)
    pool = [next(stream) for _ in range(sum(SIZES.values()) - SIZES["long"] + SPARE)]
    # shuffled, because short sentences are used up early in the stream
    dice.shuffle(pool)
    parts = {"train": pool[: SIZES["train"]]}
    known = {word for pair in parts["train"] for word in words(pair)}
    covered = (pair for pair in pool[SIZES["train"] :] if words(pair) <= known)
    longer = (pair for pair in distinct(long, dice, LONG_TOKENS, seen) if words(pair) <= known)
    for part, source in (("valid", covered), ("test", covered), ("long", longer)):
        parts[part] = [next(source) for _ in range(SIZES[part])]
    return parts


def write(folder: Path, parts: dict[str, list[Pair]]) -> None:
    """Write the parts."""
    for part, pairs in parts.items():
        for side, language in enumerate(("en", "de")):
            with complete_file(folder / f"{part}.{language}") as file:
                file.write_bytes("".join(pair[side] + "\n" for pair in pairs).encode("utf-8"))


def table(parts: dict[str, list[Pair]]) -> str:
    """Return the sizes of the parts and their tokens in English and German, mean and maximum."""
    lines = ["part    pairs  mean en  mean de  max en  max de"]
    for part, pairs in parts.items():
        english, german = ([len(tokens(pair[side])) for pair in pairs] for side in (0, 1))
        means = [sum(counts) / len(counts) for counts in (english, german)]
        lines.append(f"{part:6}{len(pairs):7}{means[0]:9.1f}{means[1]:9.1f}{max(english):8}{max(german):8}")
    return "\n".join(lines)


def main() -> None:
    parser = cli.parser(__doc__, "grammar")
    parser.add_argument("outdir", metavar="OUTDIR", type=Path, help="folder to write to; made if it is missing")
    folder = parser.parse_args().outdir
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"OUTDIR must be a folder that can be written to, but {folder} is not: {error}") from None
    parts = corpus()
    write(folder, parts)
    print(table(parts))


if __name__ == "__main__":
    run("grammar", main)
