"""The text that a model was trained on, from the folder of fairseq-preprocess, to make windows of."""

import itertools
from pathlib import Path
from typing import Any

from fairseq.data import data_utils

from fairseq_rope.checkpoints.loading import brief
from fairseq_rope.conversion.original import Original, check_sets, set_files
from fairseq_rope_data.errors import UserError
from fairseq_rope_data.files import complete_files, read_lines

# of text in another segmentation than the data's, far more tokens than these are in no dictionary
MOST_UNKNOWN = 0.1
LOOKED_AT = 10_000  # lines


def write_text(original: Original, folder: Path) -> None:
    """Write the training and test sets of DATA as they were before fairseq-preprocess, FOLDER/SET.LANG.

    Words that are in no dictionary are <unk>.

    Raises:
        UserError: a set is missing or damaged, or is of another dictionary.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("train", *check_sets(original)):
        sides = _sides(original)
        with complete_files(*(folder / f"{name}.{lang}" for lang, _ in sides)) as parts:
            for (lang, dictionary), part in zip(sides, parts, strict=True):
                lines = _binarized(original, name, lang, dictionary)
                with part.open("w", encoding="utf-8", newline="") as file:
                    file.writelines(f"{dictionary.string(line, include_eos=False)}\n" for line in lines)


def check_segmentation(original: Original, prefix: str) -> None:
    """Check that the text PREFIX.LANG is segmented as DATA is: most of its tokens are in the dictionaries.

    Raises:
        UserError: a file cannot be read, is empty, or too many of its tokens are unknown.
    """
    for lang, dictionary in _sides(original):
        lines = itertools.islice(read_lines(Path(f"{prefix}.{lang}")), LOOKED_AT)
        tokens = [token for line in lines for token in line.split()]
        if not tokens:
            raise UserError(f"--ordered {prefix}.{lang} has no text")
        unknown = sum(token not in dictionary for token in tokens) / len(tokens)
        if unknown > MOST_UNKNOWN:
            raise UserError(
                f"--ordered {prefix}.{lang} must be segmented as DATA is, but {unknown:.0%} of its tokens are not in "
                f"{original.data}/dict.{lang}.txt"
            )


def _sides(original: Original) -> list[tuple[str, Any]]:
    """Return both languages with their dictionaries."""
    task = original.task
    return [(task.cfg.source_lang, task.source_dictionary), (task.cfg.target_lang, task.target_dictionary)]


def _binarized(original: Original, name: str, lang: str, dictionary: Any) -> Any:
    """Return the lines of one side of a set, as tensors of token numbers."""
    prefix = set_files(original, name, lang)
    if prefix is None:
        raise UserError(f"DATA {original.data} has no {name} set in {lang}")
    try:
        lines = data_utils.load_indexed_dataset(str(prefix), dictionary)
        highest = max((int(line.max()) for line in lines), default=0)
    except Exception as error:  # a damaged file: each kind raises its own
        raise UserError(f"cannot read {prefix}: {brief(error)}") from error
    if highest >= len(dictionary):
        raise UserError(
            f"{prefix} is of another dictionary: it has token {highest}, but the dictionary {len(dictionary)} entries"
        )
    return lines
