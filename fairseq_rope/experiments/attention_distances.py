"""How much weight a trained model's self-attention gives to keys at each distance, on real text.

For each stack, layer and head it is the mean weight over all pairs of a query and a key at that distance, in all
sentences, beside what the same pairs would have if each query's weight were shared out evenly among the keys that it
sees. Without the latter near keys would seem to matter in any model, because short sentences, whose weights are larger,
have near keys only. </s> as a key is counted apart: models park weight there, and it stands at the ends.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch
from torch import Tensor

from fairseq_rope.experiments.distance_sums import BatchPairs, DistanceSums, StackAttention, Sums
from fairseq_rope.modules.recorded_attention import recorded_self_attention
from fairseq_rope_data.errors import UserError


def attention_by_distance(
    model: Any, batches: Iterable[dict[str, Any]], *, limit: int, pad: int, end: int
) -> dict[str, StackAttention]:
    """Return how the encoder's and the decoder's self-attention depend on distance.

    Args:
        model: an encoder-decoder Transformer in evaluation mode, fairseq's or ours, on the CPU.
        batches: what fairseq's translation task makes of sentence pairs.
        limit: the largest distance that counts.
        pad: the index of padding.
        end: the index of </s>.

    Raises:
        UserError: the model has no self-attention that gives weights, they are not finite, or there are no words.
    """
    stacks = {"encoder": "src_tokens", "decoder": "prev_output_tokens"}
    sums = {stack: DistanceSums(limit) for stack in stacks}
    with torch.inference_mode():
        for batch in batches:
            inputs = batch["net_input"]
            pairs = {
                stack: BatchPairs(inputs[name], pad=pad, end=end, limit=limit, causal=stack == "decoder")
                for stack, name in stacks.items()
            }
            with (
                recorded_self_attention(model.encoder, _checked_sums(pairs["encoder"], "encoder")) as of_encoder,
                recorded_self_attention(model.decoder, _checked_sums(pairs["decoder"], "decoder")) as of_decoder,
            ):
                model(**inputs)
            for stack, recorded in zip(stacks, (of_encoder, of_decoder), strict=True):
                sums[stack].add(pairs[stack], _complete(recorded, stack))
    results = {stack: each.result() for stack, each in sums.items()}
    found = {stack: result for stack, result in results.items() if result is not None}
    if len(found) < len(stacks):
        raise UserError("there are no words to measure attention on")
    return found


def _checked_sums(pairs: BatchPairs, stack: str) -> Callable[[Tensor], Sums | None]:
    """Return what sums up the weights of a layer: None where they are none of self-attention."""

    def summary(weights: Tensor) -> Sums | None:
        if weights.shape[1:] != pairs.seen.shape:
            return None
        if not weights.isfinite().all():
            raise UserError(f"the weights of the {stack}'s attention are not finite: its training has diverged")
        return pairs.sums(weights)

    return summary


def _complete(recorded: Sequence[Sums | None], stack: str) -> list[Sums]:
    """Return what was recorded, if it is of self-attention in all layers."""
    layers = [layer for layer in recorded if layer is not None]
    if not layers or len(layers) < len(recorded):
        raise UserError(f"the {stack} has no self-attention whose weights can be measured")
    return layers
