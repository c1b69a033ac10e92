"""Beam search without a copy of the source for each hypothesis: a sentence's hypotheses are consecutive rows."""

import torch
from torch import Tensor


def is_first_order(new_order: Tensor, sentences: int, beam: int) -> bool:
    """Return whether an order of sentences gives each of them, in turn, `beam` hypotheses: how a search begins."""
    order = torch.arange(sentences, dtype=new_order.dtype, device=new_order.device)
    return torch.equal(new_order, order.repeat_interleave(beam))


def sentence_rows(new_order: Tensor, hypotheses: int, sentences: int) -> Tensor | None:
    """Return which sentences a new order of hypotheses keeps, or None when all stay where they are.

    Args:
        new_order: indices of hypotheses before, as fairseq's beam search gives them: each sentence's stay together, and
            sentences leave but never change places.
        hypotheses: their number before, a multiple of `sentences`.
        sentences: their number before.
    """
    beam = hypotheses // sentences
    if beam == 1:
        return new_order
    return None if new_order.numel() == hypotheses else new_order.view(-1, beam)[:, 0] // beam
