"""Names and shapes of weights, ours and theirs, and what becomes of the numbers.

Nothing is computed: rows are put into the other order of tokens or of a head's dimensions. The table of positions is
of neighbors (`interleaved`), sines before cosines; fairseq_rope keeps none.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import torch
from torch import Tensor

from fairseq_rope.export.huggingface.config import ModelConfig
from fairseq_rope.export.huggingface.vocabulary import Vocabulary
from fairseq_rope.modules.positions.frequencies import inverse_frequencies
from fairseq_rope.modules.positions.layouts import pair_order

Weights = dict[str, Tensor]

POSITIONS = "roformer.encoder.embed_positions.weight"
EMBEDDINGS = "roformer.embeddings.word_embeddings.weight"
DECODER = "cls.predictions.decoder.weight"
BIAS, DECODER_BIAS = "cls.predictions.bias", "cls.predictions.decoder.bias"
_STACK = "encoder.sentence_encoder"
SEGMENTS = f"{_STACK}.segment_embeddings.weight"
OUTPUT = "encoder.lm_head.weight"
# parts of a layer with weight and bias, ours -> theirs
_LAYER = {
    "self_attn.q_proj": "attention.self.query",
    "self_attn.k_proj": "attention.self.key",
    "self_attn.v_proj": "attention.self.value",
    "self_attn.out_proj": "attention.output.dense",
    "self_attn_layer_norm": "attention.output.LayerNorm",
    "fc1": "intermediate.dense",
    "fc2": "output.dense",
    "final_layer_norm": "output.LayerNorm",
}


class Weight(NamedTuple):
    """A weight's two names, its shape, and what its rows are: "tokens", "rotated" dimensions of heads, or others."""

    ours: str
    theirs: str
    shape: tuple[int, ...]
    rows: str = ""


def weights(config: ModelConfig, *, head: str) -> Iterator[Weight]:
    """Yield all weights of a model; `head` is the name of its classifier here, if it is one."""
    size, tokens = config.hidden_size, config.vocab_size
    yield Weight(f"{_STACK}.embed_tokens.weight", EMBEDDINGS, (tokens, size), "tokens")
    yield Weight(SEGMENTS, "roformer.embeddings.token_type_embeddings.weight", (config.token_types, size))
    yield from _with_bias(f"{_STACK}.layernorm_embedding", "roformer.embeddings.LayerNorm", (size,))
    for number in range(config.num_layers):
        ours, theirs = f"{_STACK}.layers.{number}", f"roformer.encoder.layer.{number}"
        for part, their_part in _LAYER.items():
            shapes = {"fc1": (config.ffn_size, size), "fc2": (size, config.ffn_size)}
            shape = (size,) if part.endswith("layer_norm") else shapes.get(part, (size, size))
            rows = "rotated" if part in ("self_attn.q_proj", "self_attn.k_proj") else ""
            yield from _with_bias(f"{ours}.{part}", f"{theirs}.{their_part}", shape, rows)
    if config.labels is None:
        for part, shape in (("dense", (size, size)), ("LayerNorm", (size,))):
            ours = part.replace("LayerNorm", "layer_norm")
            yield from _with_bias(f"encoder.lm_head.{ours}", f"cls.predictions.transform.{part}", shape)
        yield Weight(OUTPUT, DECODER, (tokens, size), "tokens")
        yield Weight("encoder.lm_head.bias", BIAS, (tokens,), "tokens")
    else:
        for part, shape in (("dense", (size, size)), ("out_proj", (len(config.labels), size))):
            yield from _with_bias(f"classification_heads.{head}.{part}", f"classifier.{part}", shape)


def to_fairseq(config: ModelConfig, theirs: Mapping[str, Tensor], vocabulary: Vocabulary, *, head: str) -> Weights:
    """Return the weights of a checkpoint in float32; those of a tied output share the embeddings' memory.

    Args:
        config: of the model.
        theirs: all its weights by their names, those of a tied output with any value.
        vocabulary: its tokens.
        head: the name of the classifier.
    """
    ours = {}
    for weight in weights(config, head=head):
        tensor = theirs[weight.theirs].float()
        ours[weight.ours] = tensor[vocabulary.order] if weight.rows == "tokens" else tensor
    if config.labels is not None:
        ours |= _untrained_head(config)
    if config.is_tied:
        ours[OUTPUT] = ours[f"{_STACK}.embed_tokens.weight"]
    # of fairseq's stack; older ones had no norm of their own
    ours[f"{_STACK}.version"] = torch.tensor([3.0])
    return ours


def to_hugging_face(
    config: ModelConfig, ours: Mapping[str, Tensor], vocabulary: Vocabulary, *, head: str, layout: str
) -> Weights:
    """Return the weights of a folder in float32, without what a tied output shares.

    Args:
        config: of the model.
        ours: all its weights by our names.
        vocabulary: its tokens.
        head: the name of the classifier.
        layout: which dimensions of a head are a pair, the model's --rope-layout.
    """
    pairs = pair_order(config.head_dim, config.head_dim, source=layout, target="interleaved")
    # (H, 1) + (D,) -> (H, D) -> (H x D,)
    rotated = (torch.arange(config.num_heads)[:, None] * config.head_dim + pairs).flatten()
    orders = {"tokens": vocabulary.order.argsort(), "rotated": rotated}
    theirs = {POSITIONS: position_table(config)}
    for weight in weights(config, head=head):
        if weight.ours == OUTPUT and config.is_tied:
            continue
        tensor = ours[weight.ours].float()
        order = orders.get(weight.rows)
        theirs[weight.theirs] = (tensor if order is None else tensor[order]).contiguous()
    if BIAS in theirs and not config.is_tied:
        theirs[DECODER_BIAS] = theirs[BIAS].clone()
    return theirs


def token_types(config: ModelConfig, ours: Weights, *, segments: int) -> Weights:
    """Return the weights with an embedding for each token type: of segments, or nothing where the model has none.

    A model with one segment adds the same to every token, and so do all types.
    """
    found = ours.get(SEGMENTS)
    if segments == 0 and found is None:
        return {**ours, SEGMENTS: torch.zeros(config.token_types, config.hidden_size)}
    if segments == 1 and found is not None and found.shape == (1, config.hidden_size):
        return {**ours, SEGMENTS: found.expand(config.token_types, -1)}
    return ours


def position_table(config: ModelConfig) -> Tensor:
    """Return sines and cosines of all positions, (max_length, D), as RoFormer's of Hugging Face keeps them."""
    theta = inverse_frequencies(config.head_dim, base=10000.0).theta
    # (T, 1) x (D/2,) -> (T, D/2)
    angles = torch.arange(config.max_length, dtype=torch.float64)[:, None] * theta
    return torch.cat((angles.sin(), angles.cos()), dim=1).float()


def _with_bias(ours: str, theirs: str, shape: tuple[int, ...], rows: str = "") -> Iterator[Weight]:
    yield Weight(f"{ours}.weight", f"{theirs}.weight", shape, rows)
    yield Weight(f"{ours}.bias", f"{theirs}.bias", shape[:1], rows)


def _untrained_head(config: ModelConfig) -> Weights:
    """Return a head of masked tokens for a classifier that came without: fairseq's models have one in any case."""
    size = config.hidden_size
    return {
        "encoder.lm_head.dense.weight": torch.eye(size),
        "encoder.lm_head.dense.bias": torch.zeros(size),
        "encoder.lm_head.layer_norm.weight": torch.ones(size),
        "encoder.lm_head.layer_norm.bias": torch.zeros(size),
        "encoder.lm_head.bias": torch.zeros(config.vocab_size),
    }
