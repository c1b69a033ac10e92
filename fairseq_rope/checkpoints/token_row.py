"""A subset of running text as one row of tokens, as fairseq-preprocess --only-source wrote it."""

from pathlib import Path
from typing import Any

import numpy as np
from fairseq.data import data_utils
from numpy.typing import NDArray

from fairseq_rope.checkpoints.loading import brief
from fairseq_rope_data.errors import UserError


def token_row(data: Path, subset: str, dictionary: Any) -> NDArray[np.int64]:
    """Return the tokens of a subset, line after line, each with </s> at its end, (N,).

    Args:
        data: the folder of fairseq-preprocess.
        subset: such as valid.
        dictionary: fairseq's, of the folder.

    Raises:
        UserError: there is no such subset, it is damaged or empty, or of another dictionary.
    """
    try:
        lines = data_utils.load_indexed_dataset(str(data / subset), dictionary)
        row = None if lines is None else np.concatenate([lines[i].numpy() for i in range(len(lines))])
    except Exception as error:  # a damaged file: each kind raises its own
        raise UserError(f"--subset {subset} cannot be read from --data {data}: {brief(error)}") from error
    if row is None:
        raise UserError(f"--subset {subset} must be text of one language in --data {data}, but there is none")
    if int(row.max()) >= len(dictionary):
        raise UserError(
            f"--subset {subset} of --data {data} is of another dictionary: it has token {row.max()}, "
            f"but the dictionary has {len(dictionary)} entries"
        )
    return row.astype(np.int64)
