"""Which tokens of a text are masked for a masked language model: the same ones whatever the length of its blocks.

Masks are drawn over the text as one row of tokens, before it is cut. So models, and lengths of blocks, are compared in
the same predictions, and with longer blocks nothing but the context is another.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

SHARE = 0.15  # of the tokens, as in BERT
_MASKED, _RANDOM = 0.8, 0.1  # of those: replaced by the mask, by another word; the rest stay as they are

Tokens = NDArray[np.int64]


@dataclass(frozen=True)
class MaskedText:
    """A text of N tokens.

    Args:
        targets: its tokens, (N,).
        inputs: what the model is given in their place, (N,).
        is_masked: which of them it is to predict, (N,).
        signature: how they were drawn.
    """

    targets: Tokens
    inputs: Tokens
    is_masked: NDArray[np.bool_]
    signature: str


def mask_text(tokens: Tokens, *, first_word: int, mask: int, share: float = SHARE, seed: int = 1) -> MaskedText:
    """Draw the masks of a text: 80% of the tokens drawn become the mask, 10% another word, 10% stay (BERT, 3.1).

    Args:
        tokens: (N,).
        first_word: the lowest index of a word; special tokens are below and never drawn.
        mask: the index of the mask, above that of each word.
        share: of the words that are drawn, in expectation.
        seed: the same one gives the same masks.
    """
    rng = np.random.default_rng(seed)
    drawn, kinds = rng.random((2, len(tokens)))
    others = rng.integers(first_word, mask, len(tokens))
    is_masked = (drawn < share) & (tokens >= first_word)
    inputs = np.where(is_masked & (kinds < _MASKED), mask, tokens)
    inputs = np.where(is_masked & (kinds >= _MASKED) & (kinds < _MASKED + _RANDOM), others, inputs)
    return MaskedText(tokens, inputs, is_masked, f"masked:{share:g}|mask:80%,other:10%,same:10%|mask-seed:{seed}")


def blocks(text: MaskedText, *, length: int, bos: int, max_tokens: int) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
    """Yield the blocks of a text in batches, as fairseq's masked_lm cuts it: inputs, targets, masks, (B, length) each.

    Each block is <s> and length - 1 tokens, which know no ends of lines; the last one, alone, may be shorter.

    Args:
        text: N tokens.
        length: of a block.
        bos: the index of <s>.
        max_tokens: of a batch, if it is more than one block.
    """
    size = length - 1
    rows = max(1, max_tokens // length)
    whole = len(text.targets) // size * size
    cuts = [*range(0, whole, rows * size), whole, len(text.targets)]
    for start, end in pairwise(cuts):
        if start < end:
            width = min(size, end - start)
            # (B * width) -> (B, width) -> (B, width + 1)
            inputs, targets, masks = (
                torch.nn.functional.pad(torch.from_numpy(row[start:end].copy()).view(-1, width), (1, 0), value=first)
                for row, first in ((text.inputs, bos), (text.targets, bos), (text.is_masked, False))
            )
            yield inputs, targets, masks
