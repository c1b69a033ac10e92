"""Read similar-case matching (CAIL2019-SCM) and write its texts and labels, raw, a line each.

    python -m fairseq_rope_data.scm --train train.json --valid valid.json --test test.json raw
    python -m fairseq_rope_data.scm --sample input.json raw

A line of a file is a JSON object with the texts A, B and C and the label B or C, that of the text that is nearer to A.
For the subsets train, valid and perhaps test raw/SUBSET.input0 has A, input1 B and input2 C, and SUBSET.label has 0
where B is nearer and 1 where C is. White space within a text becomes a space. Files may be gzipped (.gz).

--sample takes a file without labels in which B is always the nearer one, as the organizers say of their training data.
In a half of it, drawn at random, B and C change places. A fifth becomes valid, so that no document is in both train and
valid, and examples that have documents of both are left out. This is for tests of a chain, and no benchmark.
"""

import argparse
import json
import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from fairseq_rope_data import cli
from fairseq_rope_data.case_split import split_by_document
from fairseq_rope_data.errors import UserError, run
from fairseq_rope_data.files import complete_files
from fairseq_rope_data.join_text import joined

TEXTS = ("A", "B", "C")
CHOICES = ("B", "C")
SUBSETS = ("train", "valid", "test")
_SHOWN = 40
_FEWEST = 10  # examples of a sample


class Case(NamedTuple):
    """The texts A, B and C, and the number of the nearer one: 0 for B, 1 for C."""

    texts: tuple[str, ...]
    label: int


def read_cases(path: Path, *, labeled: bool = True) -> list[Case]:
    """Read a file.

    Args:
        path: JSON lines, plain or gzipped.
        labeled: each has a label; else it may lack, and is B.

    Raises:
        UserError: the file cannot be read, is empty or not UTF-8, or has a bad line, which is named.
    """
    lines = b"".join(joined([path])).decode("utf-8").split("\n")[:-1]
    return [_case(f"{path}:{number}", line, labeled=labeled) for number, line in enumerate(lines, 1)]


def _case(where: str, line: str, *, labeled: bool) -> Case:
    try:
        found: Any = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise UserError(f"{where}: must be a JSON object: {error}") from None
    if not isinstance(found, dict):
        raise UserError(f"{where}: must be a JSON object, but is {line[:_SHOWN]}")
    for name in (*TEXTS, "label") if labeled else TEXTS:
        if name not in found:
            raise UserError(f"{where}: must have {', '.join(TEXTS)} and label, but lacks {name}")
    texts = []
    for name in TEXTS:
        text = found[name]
        if not isinstance(text, str) or not text.strip():
            raise UserError(f"{where}: {name} must be a text, but is {json.dumps(text, ensure_ascii=False)[:_SHOWN]}")
        try:
            text.encode()
        except UnicodeEncodeError:
            raise UserError(f"{where}: {name} has half of a surrogate pair, which is no character") from None
        texts.append(" ".join(text.split()))
    label = found.get("label", "B")
    if label not in CHOICES:
        raise UserError(f"{where}: the label must be B or C, but is {json.dumps(label, ensure_ascii=False)[:_SHOWN]}")
    return Case(tuple(texts), CHOICES.index(label))


def read_sample(path: Path) -> dict[str, list[Case]]:
    """Read a sample and split it.

    Raises:
        UserError: see `read_cases`; or it is too small, or its documents are too much connected to be split.
    """
    cases = read_cases(path, labeled=False)
    if len(cases) < _FEWEST:
        raise UserError(f"--sample {path} must have {_FEWEST} examples or more, but has {len(cases)}")
    documents = [frozenset(map(characters_of, case.texts)) for case in cases]
    train, valid = split_by_document(documents, len(cases) // 5)
    if not train:
        raise UserError(f"--sample {path}: no example is left to train on, for a few documents are in all of them")
    dice = random.Random(1)
    mixed = [_swapped(case) if dice.random() < 0.5 else case for case in cases]
    return {"train": [mixed[number] for number in train], "valid": [mixed[number] for number in valid]}


def characters_of(document: str) -> str:
    """Return what tells a document from another: its characters, white space apart."""
    return "".join(document.split())


def _swapped(case: Case) -> Case:
    first, *others = case.texts
    return Case((first, *reversed(others)), 1 - case.label)


def write_cases(found: Mapping[str, list[Case]], output: Path) -> None:
    """Write texts and labels; all files are complete or not there."""
    texts = {"labels.txt": [f"{number} 1" for number in range(len(CHOICES))]}
    for subset, cases in found.items():
        for number in range(len(TEXTS)):
            texts[f"{subset}.input{number}"] = [case.texts[number] for case in cases]
        texts[f"{subset}.label"] = [str(case.label) for case in cases]
    output.mkdir(parents=True, exist_ok=True)
    with complete_files(*(output / name for name in texts)) as parts:
        for part, lines in zip(parts, texts.values(), strict=True):
            part.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8", newline="\n")


def _read(options: argparse.Namespace) -> dict[str, list[Case]]:
    given = {subset: path for subset in SUBSETS if (path := getattr(options, subset)) is not None}
    if options.sample is not None:
        if given:
            raise UserError(f"--sample and --{next(iter(given))} exclude each other")
        return read_sample(options.sample)
    for subset in SUBSETS[:2]:
        if subset not in given:
            raise UserError(f"--{subset} FILE is needed, or --sample FILE")
    return {subset: read_cases(path) for subset, path in given.items()}


def main() -> None:
    parser = cli.parser(__doc__, "scm")
    for subset in SUBSETS:
        parser.add_argument(f"--{subset}", type=Path, metavar="FILE", help=f"the {subset} set, JSON lines")
    parser.add_argument("--sample", type=Path, metavar="FILE", help="in the place of all: a file without labels")
    parser.add_argument("output", type=Path, metavar="OUT", help="the folder to write; with - files are checked only")
    parser.add_argument("--settings", action="store_true", help="print sets and numbers as settings of the shell")
    options = parser.parse_args()
    found = _read(options)
    if str(options.output) != "-":
        write_cases(found, options.output)
    if options.settings:
        sets = " ".join(subset for subset in found if subset != "train")
        inputs = " ".join(f"input{number}" for number in range(len(TEXTS)))
        print(f"INPUTS=({inputs})\nEXAMPLES={len(found['train'])}\nSETS=({sets})\nLABELED=({sets})")
    else:
        print(", ".join(f"{subset} {len(cases):,}" for subset, cases in found.items()))


if __name__ == "__main__":
    run("scm", main)
