"""What the description of a stack for CTranslate2 says about positions, by position method."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import torch
from ctranslate2.specs import transformer_spec
from fairseq.modules import SinusoidalPositionalEmbedding
from numpy.typing import NDArray
from torch import Tensor

from fairseq_rope.export.ctranslate2.rotation import RuntimeRotation
from fairseq_rope.modules.positions.alibi import ALiBi
from fairseq_rope.modules.positions.layouts import pair_order
from fairseq_rope.modules.positions.rotary import RotaryEmbedding
from fairseq_rope.modules.positions.shaw import Shaw
from fairseq_rope.modules.positions.t5 import T5Bias


class Rows(NamedTuple):
    """How the rows of `q_proj` and `k_proj` become the runtime's, and the scaling of its rotation.

    Attributes:
        order: their indices in the order of the runtime's layout, (H x D,).
        magnitude: the factor of each of them, in that order, (H x D,).
        scaling: attributes of the self-attention.
    """

    order: Tensor
    magnitude: Tensor
    scaling: dict[str, Any]


def position_options(stack: Any, rotation: RuntimeRotation | None, *, layout: str) -> dict[str, Any]:
    """Return the method's options of the runtime's stack.

    Args:
        stack: an encoder or a decoder.
        rotation: where its method rotates.
        layout: which pairs of dimensions the runtime rotates.
    """
    method = stack.position_method
    if rotation is not None:
        return {
            "rotary_dim": method.rotary_dim,
            "rotary_interleave": layout == "interleaved",
            "rotary_base": rotation.base,
        }
    match method:
        case ALiBi() | T5Bias():
            return {"relative_attention_bias": True}
        case Shaw():
            return {"relative_position": True}
        case _:
            return {}


def projection_rows(stack: Any, rotation: RuntimeRotation | None, *, layout: str) -> Rows:
    """Return what becomes of the rows; the arguments are those of `position_options`."""
    attention, method = stack.layers[0].self_attn, stack.position_method
    within, magnitude = torch.arange(attention.head_dim), torch.ones(attention.num_heads, attention.head_dim)
    if rotation is not None:
        within = pair_order(attention.head_dim, method.rotary_dim, source=method.layout, target=layout)
        magnitude[:, : method.rotary_dim] = rotation.magnitude
    # (H, 1) + (D,) -> (H, D) -> (H x D,)
    order = (torch.arange(attention.num_heads)[:, None] * attention.head_dim + within).flatten()
    return Rows(order, magnitude.flatten(), rotation.attributes if rotation is not None else {})


def fill_positions(spec: Any, stack: Any) -> None:
    """Fill what the method adds to embeddings, scores, keys or values; `spec` was made with `position_options`."""
    layers: Iterator[tuple[Any, Any]] = (
        (layer_spec.self_attention, layer.self_attn.position_method)
        for layer_spec, layer in zip(spec.layer, stack.layers, strict=True)
    )
    match stack.position_method:
        case RotaryEmbedding():
            # an encoder's description has them in any case
            if hasattr(spec, "position_encodings"):
                del spec.position_encodings
        case ALiBi() | T5Bias() as method:
            is_encoder = isinstance(spec, transformer_spec.TransformerEncoderSpec)
            reach = method.max_distance if isinstance(method, T5Bias) else stack.max_positions()
            biases = _array(_biases_by_bucket(method, stack, reach, bidirectional=is_encoder))
            for attention_spec, _ in layers:
                attention_spec.relative_attention_bias = biases
                attention_spec.relative_attention_max_distance = np.dtype("int32").type(2 * reach)
        case Shaw():
            for attention_spec, method in layers:
                attention_spec.relative_position_keys = _array(method.weights["relative_keys"])
                attention_spec.relative_position_values = _array(method.weights["relative_values"])
        case _:
            spec.position_encodings.encodings = _array(_encodings(stack))


def _biases_by_bucket(method: ALiBi | T5Bias, stack: Any, reach: int, *, bidirectional: bool) -> Tensor:
    """Return the bias of each of the runtime's buckets and each head, (2 reach, H) or (4 reach, H).

    The buckets are T5's, and half of those of a direction are for one distance each: with so many that every distance
    below `reach` has its own, any bias that is a function of the distance can be written. All further distances get
    the bias of `reach`: T5's is the same from there on, and no model with ALiBi has positions that far apart.
    """
    # queries are looked at for their number and device only; one, at `reach`: (1, H, 1, S) -> (H, S)
    query = torch.empty(1, stack.layers[0].self_attn.num_heads, 1, 1, device=stack.embed_tokens.weight.device)
    biases = method.bias(query, num_keys=(2 if bidirectional else 1) * reach + 1, offset=reach)[0, :, 0]
    # of keys before the query and at it, then of those after it, each from near to far, (H, reach + 1)
    directions = [biases[:, : reach + 1].flip(1), *([biases[:, reach:]] if bidirectional else [])]
    buckets = [torch.cat((by_distance[:, :-1], by_distance[:, -1:].expand(-1, reach)), 1) for by_distance in directions]
    # (H, buckets) -> (buckets, H)
    return torch.cat(buckets, dim=1).t()


def _encodings(stack: Any) -> Tensor:
    """Return what is added to the embeddings at 0 .. the stack's last position, (N, E).

    The runtime adds sinusoids where it is given nothing, and its own count from 1; fairseq's from the index of padding
    plus 1. A model without positions adds zeros.
    """
    embedding, length = stack.embed_positions, stack.max_positions()
    if embedding is None:
        return torch.zeros(length, stack.layers[0].self_attn.embed_dim)
    first = stack.padding_idx + 1
    if isinstance(embedding, SinusoidalPositionalEmbedding):
        # as many as a sentence can need; the embedding holds as many as one has needed so far
        table = embedding.get_embedding(first + length, embedding.embedding_dim, stack.padding_idx)
    else:
        table = embedding.weight
    return table[first : first + length]


def _array(tensor: Tensor) -> NDArray[np.float32]:
    return tensor.detach().to("cpu", torch.float32).contiguous().numpy()
