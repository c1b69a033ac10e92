"""How much weight a trained model's self-attention gives to keys at each distance, on real text.

For each stack and layer it is the mean weight over all pairs of a query and a key at that distance, over heads and
sentences, beside what the same pairs would have if each query's weight were shared out evenly among the keys that it
sees. Without the latter near keys would seem to matter in any model, because short sentences, whose weights are larger,
have near keys only. </s> as a key is counted apart: models park weight there, and it stands at the ends.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from fairseq_rope.compat.fast_path import switch_off_fast_path
from fairseq_rope.modules.recorded_attention import recorded_self_attention
from fairseq_rope_data.errors import UserError


@dataclass(frozen=True)
class StackAttention:
    """The self-attention of a stack, N distances and L layers.

    Args:
        distances: the key's position less the query's, ascending, those that some pair has, (N,).
        pairs: how many pairs of tokens have the distance, (N,).
        weights: their mean weight in each layer, (L, N).
        even: their mean weight if each query attended to all keys that it sees alike, (N,).
        end_weights: the mean weight that a query gives to </s>, by layer, (L,).
        even_end: what that would be, attending to all alike.
    """

    distances: Tensor
    pairs: Tensor
    weights: Tensor
    even: Tensor
    end_weights: Tensor
    even_end: float

    @property
    def relative(self) -> Tensor:
        """Return the weights of the layers by those of even attention, (L, N): 1 where distance does not matter."""
        return self.weights / self.even


class DistanceSums:
    """Sums over the pairs of a stack, batch by batch.

    Args:
        limit: the largest distance that counts.
        causal: queries see no later keys.
    """

    def __init__(self, limit: int, *, causal: bool):
        self.limit, self.causal = limit, causal
        # of pairs, of even attention, of each layer: (2 limit + 1,) by distance, and what goes to </s>
        self._by_distance: list[Tensor] = []
        self._to_end: list[float] = []
        self._queries = 0

    def add(self, tokens: Tensor, weights: Sequence[Tensor], *, pad: int, end: int) -> None:
        """Add a batch.

        Args:
            tokens: (B, T), with padding on any side.
            weights: of each layer, means over heads, (B, T, T).
            pad: the index of padding, which counts neither as query nor as key.
            end: the index of </s>.
        """
        real, words = tokens.ne(pad), tokens.ne(pad) & tokens.ne(end)
        # (B, T, T): which keys a query sees
        seen = real[:, :, None] & real[:, None, :]
        if self.causal:
            seen = seen.tril()
        # the first token of a target is </s>, which sees itself alone: it has no choice
        seen = seen & (seen & words[:, None, :]).any(dim=-1, keepdim=True)
        even = seen.double() / seen.sum(dim=-1, keepdim=True).clamp(min=1)
        position = torch.arange(tokens.size(1))
        distance = position[None, :] - position[:, None]
        near = distance.abs() <= self.limit
        if not self._to_end:
            self._by_distance = [torch.zeros(2 * self.limit + 1, dtype=torch.float64) for _ in range(2 + len(weights))]
            self._to_end = [0.0] * (2 + len(weights))
        self._queries += int(seen.any(dim=-1).sum())
        for i, values in enumerate((seen.double(), even, *weights)):
            of_seen = values.double().masked_fill(~seen, 0)
            of_words = of_seen.masked_fill(~words[:, None, :], 0).sum(dim=0)
            self._by_distance[i].index_add_(0, distance[near] + self.limit, of_words[near])
            self._to_end[i] += float(of_seen.masked_fill(words[:, None, :], 0).sum())

    def result(self) -> StackAttention | None:
        """Return the means; None where there is no pair."""
        if not self._queries:
            return None
        sums = torch.stack(self._by_distance)
        found = sums[0] > 0
        pairs, means = sums[0, found], sums[1:, found] / sums[0, found]
        ends = torch.tensor(self._to_end[1:], dtype=torch.float64) / self._queries
        distances = torch.arange(-self.limit, self.limit + 1)[found]
        return StackAttention(distances, pairs.long(), means[1:], means[0], ends[1:], float(ends[0]))


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
    switch_off_fast_path(model)
    stacks = {"encoder": "src_tokens", "decoder": "prev_output_tokens"}
    sums = {stack: DistanceSums(limit, causal=stack == "decoder") for stack in stacks}
    with torch.inference_mode():
        for batch in batches:
            inputs = batch["net_input"]
            with (
                recorded_self_attention(model.encoder) as of_encoder,
                recorded_self_attention(model.decoder) as of_decoder,
            ):
                model(**inputs)
            for (stack, name), recorded in zip(stacks.items(), (of_encoder, of_decoder), strict=True):
                weights = _complete(recorded, inputs[name].size(1), stack)
                sums[stack].add(inputs[name], weights, pad=pad, end=end)
    results = {stack: each.result() for stack, each in sums.items()}
    found = {stack: result for stack, result in results.items() if result is not None}
    if len(found) < len(stacks):
        raise UserError("there are no words to measure attention on")
    return found


def _complete(recorded: list[Tensor | None], length: int, stack: str) -> list[Tensor]:
    """Return what was recorded, if it is the weights of self-attention."""
    weights = [layer for layer in recorded if layer is not None and layer.shape[1:] == (length, length)]
    if not weights or len(weights) < len(recorded):
        raise UserError(f"the {stack} has no self-attention whose weights can be measured")
    if not all(layer.isfinite().all() for layer in weights):
        raise UserError(f"the weights of the {stack}'s attention are not finite: its training has diverged")
    return weights
