"""Names of classes, from the dictionary of labels that fairseq-preprocess wrote."""

from pathlib import Path

from fairseq.data import Dictionary

from fairseq_rope_data.errors import UserError


def class_names(dictionary: Dictionary, count: int, *, path: Path) -> tuple[str, ...]:
    """Return the names of `count` classes from the dictionary that `path` holds.

    Raises:
        UserError: it has fewer.
    """
    words = dictionary.symbols[dictionary.nspecial :]
    # fairseq-preprocess fills up with words that are none, and sentence_prediction adds a mask
    labels = [word for word in words if word != "<mask>" and not word.startswith("madeupword")]
    if len(labels) < count:
        raise UserError(f"{path} must have the {count} labels of the head, but has {len(labels)}")
    return tuple(labels[:count])
