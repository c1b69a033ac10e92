"""Tables of absolute positions, which are fairseq's: where a learned one ends, and checkpoints that have one."""

import logging
from typing import Any

from fairseq.modules import LearnedPositionalEmbedding
from torch import Tensor

logger = logging.getLogger(__name__)


def check_lengths(stack: Any, tokens: Tensor) -> None:
    """Check that sentences are not longer than the table of learned positions, if the stack has one.

    Args:
        stack: an encoder or decoder; its `length_option` is what sets the length of its table.
        tokens: (B, T).

    Raises:
        ValueError: a sentence is longer; torch's own error would speak of an index.
    """
    table = stack.embed_positions
    if not isinstance(table, LearnedPositionalEmbedding) or tokens.size(1) <= table.max_positions:
        return
    longest = int(tokens.ne(stack.padding_idx).sum(dim=1).max())
    if longest > table.max_positions:
        raise ValueError(
            f"{stack.length_option} {table.max_positions}: no more positions were learned, but a sentence has {longest}"
        )


def drop_absolute_positions(stack: Any, state_dict: dict[str, Tensor], name: str) -> None:
    """Take absolute positions out of a stock checkpoint of the stack `name`, which has none."""
    if stack.embed_positions is not None:
        return
    for key in [key for key in state_dict if key.startswith(f"{name}.embed_positions.")]:
        if key.endswith(".weight"):
            logger.warning("%s: learned positions of the checkpoint are dropped: this model has none", key)
        del state_dict[key]
