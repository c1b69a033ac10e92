"""How well a masked language model predicts the masked tokens of a text, block by block."""

import math
from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor

from fairseq_rope.scoring.block_sums import BlockSums
from fairseq_rope_data.errors import UserError


def block_sums(model: Any, batches: Iterable[tuple[Tensor, Tensor, Tensor]], *, device: str = "cpu") -> BlockSums:
    """Let a model predict the masked tokens of blocks.

    Args:
        model: a masked language model of fairseq or ours on `device`, in evaluation mode.
        batches: of `masked_text.blocks`.
        device: where its tensors are.

    Raises:
        UserError: a loss is not finite.
    """
    sums = BlockSums()
    with torch.inference_mode():
        for batch in batches:
            inputs, targets, masks = (each.to(device) for each in batch)
            found = torch.zeros(3, len(inputs), dtype=torch.float64, device=device)
            if masks.any():
                # (M, V), a row for each masked token of the batch
                logits = model(src_tokens=inputs, masked_tokens=masks)[0].float()
                expected, row = targets[masks], masks.nonzero()[:, 0]
                losses = torch.nn.functional.cross_entropy(logits, expected, reduction="none") / math.log(2)
                right = logits.argmax(dim=-1).eq(expected)
                found.index_add_(1, row, torch.stack([torch.ones_like(losses), losses, right]).double())
            if not found.isfinite().all():
                raise UserError("the loss is not finite: the training of this model has diverged")
            tokens, bits, correct = found.cpu()
            sums.tokens.extend(tokens.long().tolist())
            sums.bits.extend(round(value, 6) for value in bits.tolist())
            sums.correct.extend(correct.long().tolist())
    return sums
