"""The encoder: a stack of our layers."""

from typing import Any

import torch
from fairseq.models.transformer import TransformerEncoderBase
from torch import Tensor, nn

from fairseq_rope.compat.fast_path import drop_copies
from fairseq_rope.modules.absolute_positions import check_lengths, drop_absolute_positions
from fairseq_rope.modules.beam import is_first_order, sentence_rows
from fairseq_rope.modules.explicit_positions import PositionedStack
from fairseq_rope.modules.layers import EncoderLayer, wrap
from fairseq_rope.modules.padding import Padding
from fairseq_rope.modules.positions.base import PositionMethod
from fairseq_rope.modules.selected_tokens import select
from fairseq_rope.modules.token_rows import token_rows

EncoderOut = dict[str, list[Any]]
# of the encoder's output -> which axis counts sentences
_SENTENCE_AXES = {
    "encoder_out": 1,
    "encoder_padding_mask": 0,
    "encoder_embedding": 0,
    "encoder_states": 1,
    "src_tokens": 0,
    "src_lengths": 0,
}


class Encoder(PositionedStack, TransformerEncoderBase):
    """fairseq's encoder made of our layers; absolute positions are fairseq's, where it is configured to add them."""

    length_option = "--max-source-positions"

    def __init__(self, cfg: Any, dictionary: Any, embed_tokens: nn.Module, *, position_method: PositionMethod):
        self.position_method = position_method  # before fairseq builds the layers
        super().__init__(cfg, dictionary, embed_tokens)
        if position_method.weights is not None:
            self.position_weights = position_method.weights
        self.beam_size = 1

    def build_encoder_layer(self, cfg: Any) -> nn.Module:
        """Build one layer, with activation checkpointing and sharding as configured."""
        return wrap(EncoderLayer(cfg, position_method=self.position_method, return_fc=self.return_fc), cfg)

    def forward_torchscript(self, net_input: dict[str, Any]) -> EncoderOut:
        """Encode the source of a batch, in a search; at the positions `src_positions` (B, S) of the batch.

        Raises:
            ValueError: the batch has positions of the target, which a search does not ask for.
        """
        if net_input.get("tgt_positions") is not None:
            raise ValueError(
                "tgt_positions cannot be used in a search, whose target is not known; --rope-restart-after can"
            )
        known = {name: x for name, x in net_input.items() if name not in ("src_positions", "tgt_positions")}
        with self.at(net_input.get("src_positions")):
            encoded: EncoderOut = super().forward_torchscript(known)
        return encoded

    def forward_scriptable(
        self,
        src_tokens: Tensor,
        src_lengths: Tensor | None = None,
        return_all_hiddens: bool = False,
        token_embeddings: Tensor | None = None,
        selected: Tensor | None = None,
    ) -> dict[str, Any]:
        """Encode sentences; fairseq's (0.12.2 and main) looks at the tokens, for which the host waits for a GPU.

        Args:
            src_tokens: (N, S).
            src_lengths: not needed.
            return_all_hiddens: return the input of the first layer and the output of each, too.
            token_embeddings: (N, S, E) in the place of those of the tokens.
            selected: (N, S), true at the tokens whose output is asked for; None: at all.

        Returns: fairseq's dictionary: `encoder_out` [(S, N, E)], `encoder_padding_mask` [(N, S)], ...; with `selected`
            `encoder_out` and the last state are those tokens', sentence by sentence, (tokens, E).

        Raises:
            ValueError: a sentence is longer than the table of learned positions.
        """
        check_lengths(self, src_tokens)
        padding = src_tokens.eq(self.padding_idx)
        positions = self.positions_of(src_tokens)
        x, embedding = self.forward_embedding(src_tokens, token_embeddings)
        x = x.masked_fill(padding[..., None], 0)
        # a mask that hides nothing costs a slower kernel; on the CPU it costs nothing to know
        mask = Padding(padding) if padding.device.type != "cpu" or padding.any() else None
        rows = None if return_all_hiddens else token_rows(padding, mask, selected)
        if rows is None:
            # (N, S, E) -> (S, N, E)
            x = x.transpose(0, 1)
        else:
            # -> (tokens, E)
            x = rows.take(x)
            selected = None if selected is None else rows.take(selected)
        states, results = [x], []
        layers = list(self.layers)  # LayerDrop leaves out others each time
        for number, layer in enumerate(layers, start=1):
            asked = {"selected": selected} if number == len(layers) else {}
            output = layer(x, encoder_padding_mask=rows or mask, positions=positions, **asked)
            x, result = output if isinstance(output, tuple) else (output, None)
            states.append(x)
            results.append(result)
        if selected is not None and not layers:
            x = select(x, selected)
        if self.layer_norm is not None:
            x = self.layer_norm(x)
        if rows is not None and selected is None:
            # -> (S, N, E)
            x = rows.restore(x).transpose(0, 1)
        return {
            "encoder_out": [x],
            "encoder_padding_mask": [padding],
            "encoder_embedding": [embedding],
            "encoder_states": states if return_all_hiddens else [],
            "fc_results": results if return_all_hiddens else [],
            "src_tokens": [],
            "src_lengths": [(~padding).sum(dim=1, keepdim=True, dtype=torch.int32)],
        }

    def reorder_encoder_out(self, encoder_out: EncoderOut, new_order: Tensor) -> EncoderOut:
        """Let the output follow the hypotheses.

        In the place of fairseq's (0.12.2 and main), which copies it for each hypothesis. After `set_beam_size` it keeps
        a row for each sentence: the first order, which asks for as many copies of each as the beam is wide, changes
        nothing, and later ones only where sentences leave.

        Args:
            encoder_out: what `forward` or this function returned.
            new_order: for each hypothesis its index before; at first that of its sentence.
        """
        sentences = encoder_out["encoder_out"][0].size(1)
        hypotheses = encoder_out.get("hypotheses", [None])[0]
        if hypotheses is None and self.beam_size > 1 and is_first_order(new_order, sentences, self.beam_size):
            return {**encoder_out, "hypotheses": [new_order.numel()]}
        rows = new_order if hypotheses is None else sentence_rows(new_order, hypotheses, sentences)
        if rows is None:
            return encoder_out
        reordered = {
            name: [x.index_select(axis, rows) for x in encoder_out[name]] for name, axis in _SENTENCE_AXES.items()
        }
        return reordered if hypotheses is None else {**reordered, "hypotheses": [new_order.numel()]}

    def upgrade_state_dict_named(self, state_dict: dict[str, Tensor], name: str) -> dict[str, Tensor]:
        """Load stock `transformer` checkpoints of both fairseqs: absolute positions and 0.12.2's copies are dropped."""
        drop_absolute_positions(self, state_dict, name)
        drop_copies(state_dict, name)
        return super().upgrade_state_dict_named(state_dict, name)
