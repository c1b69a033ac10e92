"""The encoder of BERT's kind: segments besides tokens, outputs of selected tokens, and named errors of its tables."""

from typing import Any

from fairseq.modules import LearnedPositionalEmbedding
from torch import Tensor, nn

from fairseq_rope.modules.encoder import Encoder
from fairseq_rope.modules.positions.base import PositionMethod
from fairseq_rope.modules.scaled_sinusoids import ScaledSinusoids


class SentenceEncoder(Encoder):
    """Our encoder as fairseq's RobertaModel uses it."""

    length_option = "--max-positions"

    def __init__(self, cfg: Any, dictionary: Any, embed_tokens: nn.Module, *, position_method: PositionMethod):
        super().__init__(cfg, dictionary, embed_tokens, position_method=position_method)
        self.separator = dictionary.eos()
        if cfg.sinusoid_scale != 1:  # else they are fairseq's own, to the bit
            length, scale = self.max_source_positions, cfg.sinusoid_scale
            self.embed_positions = ScaledSinusoids(cfg.encoder.embed_dim, self.padding_idx, length=length, scale=scale)
        self.segment_embeddings = nn.Embedding(cfg.segments, cfg.encoder.embed_dim) if cfg.segments else None

    def forward(
        self,
        src_tokens: Tensor,
        src_lengths: Tensor | None = None,
        return_all_hiddens: bool = False,
        token_embeddings: Tensor | None = None,
        selected: Tensor | None = None,
    ) -> dict[str, Any]:
        """Encode sentences, as `Encoder.forward_scriptable` describes it."""
        return self.forward_scriptable(src_tokens, src_lengths, return_all_hiddens, token_embeddings, selected)

    def forward_embedding(self, src_tokens: Tensor, token_embedding: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Return fairseq's embeddings with positions and norm, and without, (N, S, E) each; segments are in both."""
        if self.segment_embeddings is not None:
            embedding = self.embed_tokens(src_tokens) if token_embedding is None else token_embedding
            segments = segment_ids(src_tokens, separator=self.separator, count=self.segment_embeddings.num_embeddings)
            token_embedding = embedding + self.segment_embeddings(segments) / self.embed_scale
        embedded: tuple[Tensor, Tensor] = super().forward_embedding(src_tokens, token_embedding)
        return embedded

    def upgrade_state_dict_named(self, state_dict: dict[str, Tensor], name: str) -> dict[str, Tensor]:
        """Check that the checkpoint's tables have this model's rows, and load it as `Encoder` does.

        Raises:
            ValueError: they have not; torch's own error would speak of sizes of tensors.
        """
        super().upgrade_state_dict_named(state_dict, name)
        table = self.embed_positions
        learned = table if isinstance(table, LearnedPositionalEmbedding) else None
        first = 0 if learned is None else learned.num_embeddings - learned.max_positions
        for option, key, module, offset in (
            ("--max-positions", "embed_positions", learned, first),
            ("--segments", "segment_embeddings", self.segment_embeddings, 0),
        ):
            weight = state_dict.get(f"{name}.{key}.weight")
            trained = 0 if weight is None else weight.size(0) - offset
            rows = 0 if module is None else module.num_embeddings - offset
            if trained != rows and (weight is not None or module is not None):
                raise ValueError(f"{option} must be {trained}, as many as the checkpoint has, but is {rows}")
        return state_dict


def segment_ids(tokens: Tensor, *, separator: int, count: int) -> Tensor:
    """Return the segment of each token, (B, T): how many separators stand before it, at most `count` - 1.

    Args:
        tokens: (B, T).
        separator: the token that ends a segment; it is its segment's last.
        count: how many segments there are.
    """
    ends = tokens.eq(separator).long()
    return (ends.cumsum(dim=1) - ends).clamp_(max=count - 1)
