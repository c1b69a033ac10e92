"""Names of classes, from the dictionary of labels that fairseq-preprocess wrote."""

from pathlib import Path

from fairseq.data import Dictionary

from fairseq_rope_data.errors import UserError

# those of every dictionary, and the one that sentence_prediction adds
_SPECIAL = (*Dictionary().symbols, "<mask>")


def is_class(word: str) -> bool:
    """Return whether a word can be the name of a class; fairseq-preprocess fills dictionaries up with some that aren't.

    Half of a surrogate pair, which JSON can hold, is no character.
    """
    is_text = word.encode(errors="ignore").decode() == word
    return is_text and word not in _SPECIAL and not word.startswith("madeupword")


def class_names(dictionary: Dictionary, count: int, *, path: Path) -> tuple[str, ...]:
    """Return the names of `count` classes from the dictionary that `path` holds.

    Raises:
        UserError: it has fewer.
    """
    words = dictionary.symbols[dictionary.nspecial :]
    labels = [word for word in words if is_class(word)]
    if len(labels) < count:
        raise UserError(f"{path} must have the {count} labels of the head, but has {len(labels)}")
    return tuple(labels[:count])
