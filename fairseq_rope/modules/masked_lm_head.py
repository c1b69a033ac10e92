"""The head of masked language models: a layer, a norm and the projection to the vocabulary."""

from typing import Any

from fairseq.models.roberta import RobertaLMHead
from torch import Tensor

from fairseq_rope.modules.cpu.linear import linear


class MaskedLMHead(RobertaLMHead):
    """fairseq's head with one product for projection and bias; same parameters."""

    def forward(self, features: Tensor, masked_tokens: Tensor | None = None, **unused: Any) -> Tensor:
        """Return the logits.

        Args:
            features: (..., E).
            masked_tokens: (B, T), true where they are asked for, with features (B, T, E); None: everywhere.
            unused: fairseq's head takes them, too.

        Returns: (..., V), or (N, V) for the masked tokens.
        """
        if masked_tokens is not None:
            # (B, T, E) -> (N, E)
            features = features[masked_tokens]
        x = self.layer_norm(self.activation_fn(self.dense(features)))
        return linear(x, self.weight, self.bias)
