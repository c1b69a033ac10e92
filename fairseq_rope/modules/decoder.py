"""The decoder: a stack of our layers."""

from typing import Any

from fairseq.models.transformer import TransformerDecoderBase
from torch import Tensor, nn

from fairseq_rope.modules.absolute_positions import check_lengths, drop_absolute_positions
from fairseq_rope.modules.attention_core import CAUSAL
from fairseq_rope.modules.explicit_positions import PositionedStack
from fairseq_rope.modules.layers import DecoderLayer, wrap
from fairseq_rope.modules.padding import Padding
from fairseq_rope.modules.positions.base import PositionMethod


class Decoder(PositionedStack, TransformerDecoderBase):
    """fairseq's decoder made of our layers; absolute positions are fairseq's, where it is configured to add them."""

    length_option = "--max-target-positions"

    def __init__(
        self,
        cfg: Any,
        dictionary: Any,
        embed_tokens: nn.Module,
        no_encoder_attn: bool = False,
        *,
        position_method: PositionMethod,
    ):
        self.position_method = position_method  # before fairseq builds the layers
        super().__init__(cfg, dictionary, embed_tokens, no_encoder_attn=no_encoder_attn)
        if position_method.weights is not None:
            self.position_weights = position_method.weights
        self.returns_attention = False
        self.left_pad_target = True

    def configure(self, task: Any) -> None:
        """Take from the task what fairseq does not pass to `build_decoder`, a classmethod without the task."""
        self.returns_attention = bool(getattr(task.cfg, "load_alignments", False))
        self.left_pad_target = bool(getattr(task.cfg, "left_pad_target", True))

    def build_decoder_layer(self, cfg: Any, no_encoder_attn: bool = False) -> nn.Module:
        """Build one layer, with activation checkpointing and sharding as configured."""
        return wrap(DecoderLayer(cfg, no_encoder_attn, position_method=self.position_method), cfg)

    def extract_features_scriptable(
        self,
        prev_output_tokens: Tensor,
        encoder_out: dict[str, Any] | None,
        incremental_state: dict[str, Any] | None = None,
        full_context_alignment: bool = False,
        alignment_layer: int | None = None,
        alignment_heads: int | None = None,
    ) -> tuple[Tensor, dict[str, Any]]:
        """Return the decoder's features, before the output projection.

        In the place of the loop of fairseq 0.12.2 and main, which makes a causal mask and asks for attention always.

        Args:
            prev_output_tokens: (B, T).
            encoder_out: what the encoder returned, of B or N sentences.
            incremental_state: fairseq's cache for stepwise decoding; only the last token is looked at.
            full_context_alignment: let every token attend to all.
            alignment_layer: whose attention to the source is returned (the last).
            alignment_heads: how many of its heads count (all).

        Returns: features (B, T, E), and a dictionary: `attn` [(B, T, S)], averaged over heads, or [None] unless asked
            for: by `alignment_layer`, `--print-alignment` or `--load-alignments`; `inner_states`, each (T, B, E).

        Raises:
            ValueError: a sentence is longer than the table of learned positions.
        """
        check_lengths(self, prev_output_tokens)
        source = _first(encoder_out, "encoder_out")
        source_padding = _where_padded(_first(encoder_out, "encoder_padding_mask"))
        asked = self.returns_attention or alignment_layer is not None or self._prints_alignment()
        aligned = self.num_layers - 1 if alignment_layer is None else alignment_layer
        positions = self.positions_of(prev_output_tokens)
        absolute = None
        if self.embed_positions is not None:
            absolute = self.embed_positions(prev_output_tokens, incremental_state=incremental_state)
        if incremental_state is not None:
            prev_output_tokens = prev_output_tokens[:, -1:]
            positions, absolute = (x if x is None else x[:, -1:] for x in (positions, absolute))
        # (B, T, E) -> (T, B, E)
        x = self._embed(prev_output_tokens, absolute).transpose(0, 1)
        causal = incremental_state is None and not full_context_alignment
        padding = self._padding(prev_output_tokens, causal=causal)
        attention: Tensor | None = None
        states = [x]
        for index, layer in enumerate(self.layers):
            need_attention = asked and index == aligned
            x, weights, _ = layer(
                x,
                source,
                source_padding,
                incremental_state,
                self_attn_mask=CAUSAL if causal else None,
                self_attn_padding_mask=padding,
                need_attn=need_attention,
                need_head_weights=need_attention,
                positions=positions,
            )
            states.append(x)
            if need_attention and weights is not None:
                # (H, B, T, S) -> (B, T, S)
                attention = weights[:alignment_heads].float().mean(dim=0).to(x)
        if self.layer_norm is not None:
            x = self.layer_norm(x)
        x = x.transpose(0, 1)
        if self.project_out_dim is not None:
            x = self.project_out_dim(x)
        return x, {"attn": [attention], "inner_states": states}

    def _embed(self, tokens: Tensor, absolute: Tensor | None) -> Tensor:
        x = self.embed_scale * self.embed_tokens(tokens.contiguous())
        for module in (self.quant_noise, self.project_in_dim):
            if module is not None:
                x = module(x)
        if absolute is not None:
            x = x + absolute
        if self.layernorm_embedding is not None:
            x = self.layernorm_embedding(x)
        return self.dropout_module(x)

    def _padding(self, tokens: Tensor, *, causal: bool) -> Tensor | None:
        """Return which tokens are padding that a later token could attend to, or None when none is."""
        padding = tokens.eq(self.padding_idx)
        if causal and tokens.device.type != "cpu":
            # the host would wait for a GPU to know; step by step it waits in any case
            return padding if self.left_pad_target else None
        # where no token follows padding, none can attend to it
        seen = padding[:, :-1] & ~padding[:, 1:] if causal else padding
        return padding if seen.any() else None

    def _prints_alignment(self) -> bool:
        # what fairseq-generate sets in every layer
        return not self.training and any(getattr(layer, "need_attn", False) for layer in self.layers)

    def reorder_incremental_state_scripting(self, incremental_state: dict[str, Any], new_order: Tensor) -> None:
        """Let hypothesis `new_order[i]` become the i-th; fairseq's (0.12.2 and main) asks all modules, one by one."""
        # not the list itself, for LayerDrop's leaves out some; a BASE layer has no attention
        for layer in self.layers.children():
            for attention in (getattr(layer, "self_attn", None), getattr(layer, "encoder_attn", None)):
                if attention is not None:
                    attention.reorder_incremental_state(incremental_state, new_order)

    def upgrade_state_dict_named(self, state_dict: dict[str, Tensor], name: str) -> dict[str, Tensor]:
        """Load a stock `transformer` checkpoint: its absolute positions are dropped."""
        drop_absolute_positions(self, state_dict, name)
        upgraded: dict[str, Tensor] = super().upgrade_state_dict_named(state_dict, name)
        if self.output_projection is None:
            # with shared embeddings fairseq adds one all the same, and could never load what it trained
            upgraded.pop(f"{name}.output_projection.weight", None)
        return upgraded


def _where_padded(mask: Tensor | None) -> Padding | None:
    """Return the padding of the source, None where there is none; on a GPU the host would wait to know."""
    return None if mask is None or (mask.device.type == "cpu" and not mask.any()) else Padding(mask)


def _first(encoder_out: dict[str, Any] | None, name: str) -> Tensor | None:
    found = encoder_out[name] if encoder_out else []
    return found[0] if found else None
