"""fairseq's RobertaEncoder around our encoder and head."""

import sys
from typing import Any

from fairseq.models.roberta import RobertaEncoder
from torch import Tensor, nn

from fairseq_rope.models._stacks import build_encoder
from fairseq_rope.modules.masked_lm_head import MaskedLMHead
from fairseq_rope.modules.selected_tokens import first_tokens
from fairseq_rope.modules.sentence_encoder import SentenceEncoder


class RoformerEncoder(RobertaEncoder):
    """`sentence_encoder`, which makes features, and `lm_head`, which makes logits of them; names are fairseq's."""

    def build_encoder(self, args: Any, dictionary: Any, embed_tokens: nn.Module) -> SentenceEncoder:
        """Build what fairseq's hook of this name builds; RobertaModel draws all weights when it is whole."""
        return build_encoder(args, dictionary, embed_tokens, kind=SentenceEncoder)

    def build_lm_head(self, embed_dim: int, output_dim: int, activation_fn: str, weight: Tensor | None) -> MaskedLMHead:
        """Build what fairseq's hook of this name builds."""
        return MaskedLMHead(embed_dim, output_dim, activation_fn, weight)

    def forward(
        self,
        src_tokens: Tensor,
        features_only: bool = False,
        return_all_hiddens: bool = False,
        masked_tokens: Tensor | None = None,
        src_positions: Tensor | None = None,
        first_only: bool = False,
        **unused: Any,
    ) -> tuple[Tensor, dict[str, Any]]:
        """Return logits, or features before them, and `inner_states`.

        Args:
            src_tokens: (B, T).
            features_only: return features.
            return_all_hiddens: `inner_states` are the input of the first layer and the output of each, (T, B, E).
            masked_tokens: (B, T), true where logits are asked for; None: everywhere.
            src_positions: (B, T), whole or real numbers, padding too; None: side by side.
            first_only: return features of each sentence's first token alone, with the work for no others.
            unused: the rest of a batch's `net_input`.

        Returns: features (B, T, E) or, of first tokens, (B, 1, E); or logits (B, T, V) or, of the masked tokens,
            (N, V).
        """
        with self.sentence_encoder.at(src_positions):
            if first_only:
                encoded = self.sentence_encoder(src_tokens, selected=first_tokens(src_tokens))
                # (B, E) -> (B, 1, E)
                return encoded["encoder_out"][0][:, None], {"inner_states": None}
            if masked_tokens is None or features_only or return_all_hiddens:
                output: tuple[Tensor, dict[str, Any]] = super().forward(
                    src_tokens, features_only, return_all_hiddens, masked_tokens
                )
                return output
            encoded = self.sentence_encoder(src_tokens, selected=masked_tokens)
            return self.lm_head(encoded["encoder_out"][0]), {"inner_states": None}

    def max_positions(self) -> int:
        """Return how many tokens a sentence may have: as many as there are positions, where there is a table."""
        table = self.sentence_encoder.embed_positions
        return sys.maxsize if table is None else int(table.max_positions)
