"""The float64 reference of tests/reference.py with what fairseq's options change in it."""

import math
from argparse import Namespace
from dataclasses import dataclass, field

import torch
import torch.nn.functional as F
from torch import Tensor

from tests.reference import GATES, ReferenceTransformer

ACTIVATIONS = {
    "relu": F.relu,
    "gelu": lambda x: x * 0.5 * (1 + torch.erf(x / math.sqrt(2))),
    "gelu_accurate": lambda x: 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
    "tanh": torch.tanh,
    "linear": lambda x: x,
}


@dataclass
class Stack(ReferenceTransformer):
    """Encoder or decoder, one sentence at a time."""

    side: str = "encoder"
    kept: list[int] = field(default_factory=list)
    activation: str = "relu"
    scale_embedding: bool = True
    normalize_embedding: bool = False
    normalize_end: bool = False

    def features(self, tokens: list[int], memory: Tensor | None = None) -> Tensor:
        """What comes out of the last layer, (T, E)."""
        embedding = self._parameter(f"{self.side}.embed_tokens.weight")
        x = embedding[torch.tensor(tokens)] * (math.sqrt(embedding.size(1)) if self.scale_embedding else 1)
        if self.normalize_embedding:
            x = self._norm(x, f"{self.side}.layernorm_embedding")
        for layer in self.kept:
            x = self._layer(x, f"{self.side}.layers.{layer}", memory)
        return self._norm(x, f"{self.side}.layer_norm") if self.normalize_end else x

    def _layer(self, x: Tensor, name: str, memory: Tensor | None) -> Tensor:
        x = self._block(x, f"{name}.self_attn_layer_norm", lambda y: self._self_attention(y, name, self.side))
        if memory is not None:
            cross = lambda y: self._attention(y, memory, f"{name}.encoder_attn")  # noqa: E731
            x = self._block(x, f"{name}.encoder_attn_layer_norm", cross)
        return self._block(x, f"{name}.final_layer_norm", lambda y: self._feed_forward(y, name))

    def _feed_forward(self, x: Tensor, name: str) -> Tensor:
        if self.ffn in GATES:
            return super()._feed_forward(x, name)
        return self._linear(ACTIVATIONS[self.activation](self._linear(x, f"{name}.fc1")), f"{name}.fc2")


class ModelReference:
    """The whole model that fairseq's options describe, over the weights of one that is not pruned yet.

    Args:
        state: the full model's, in float64.
        args: fairseq's options of the model that is tested.
    """

    def __init__(self, state: dict[str, Tensor], args: Namespace) -> None:
        self.state, self.args = state, args
        self.encoder, self.decoder = (self._stack(side) for side in ("encoder", "decoder"))

    def features(self, source: list[int], target: list[int]) -> Tensor:
        """What is projected to the vocabulary, (T, E); `target` begins with </s>."""
        memory = None if self.args.no_cross_attention else self.encoder.features(source)
        x = self.decoder.features(target, memory)
        out = self.state.get("decoder.project_out_dim.weight")
        return x if out is None else x @ out.T

    def log_probs(self, features: Tensor) -> Tensor:
        """The log-probabilities of all words, (T, V)."""
        if not self.args.adaptive_softmax_cutoff:
            return torch.log_softmax(features @ self.state["decoder.output_projection.weight"].T, -1)
        # the most frequent words, then one entry for each band of rarer ones, whose words share its probability
        cutoff = self.args.adaptive_softmax_cutoff
        first = torch.log_softmax(features @ self.state["decoder.adaptive_softmax.head.weight"].T, -1)
        bands = [first[:, : cutoff[0]]]
        for i in range(first.size(1) - cutoff[0]):
            tail = f"decoder.adaptive_softmax.tail.{i}"
            words = features @ self.state[f"{tail}.0.weight"].T @ self.state[f"{tail}.2.weight"].T
            bands.append(first[:, cutoff[0] + i, None] + torch.log_softmax(words, -1))
        return torch.cat(bands, -1)

    def _stack(self, side: str) -> Stack:
        args = self.args
        pre_norm = getattr(args, f"{side}_normalize_before")
        layers = {int(key.split(".")[2]) for key in self.state if key.startswith(f"{side}.layers.")}
        kept = getattr(args, f"{side}_layers_to_keep", None)
        return Stack(
            self.state,
            num_heads=getattr(args, f"{side}_attention_heads"),
            base=args.rope_base,
            fraction=args.rope_fraction,
            layout=args.rope_layout,
            normalize_before=pre_norm,
            ffn=args.ffn,
            side=side,
            kept=sorted(layers) if kept is None else [int(layer) for layer in kept.split(",")],
            activation=args.activation_fn,
            scale_embedding=not args.no_scale_embedding,
            normalize_embedding=args.layernorm_embedding,
            normalize_end=pre_norm and not (side == "decoder" and args.no_decoder_final_norm),
        )
