"""Fill CTranslate2's description of a Transformer with the options and weights of a rotary model.

Axes: H heads, D head size, R rotary size, E model size, F hidden size of the feed-forward layers, V vocabulary.
"""

from typing import Any

import numpy as np
import torch
from ctranslate2.specs import common_spec, transformer_spec
from numpy.typing import NDArray
from torch import Tensor

from fairseq_rope.export.ctranslate2.positions import Rows, fill_positions, position_options, projection_rows
from fairseq_rope.export.ctranslate2.rotation import RuntimeRotation, runtime_rotation
from fairseq_rope.models.translation import TransformerRopeModel
from fairseq_rope.modules.feed_forward import GATES
from fairseq_rope.modules.positions.base import PositionMethod
from fairseq_rope.modules.positions.rotary import RotaryEmbedding

# --activation-fn -> the same function of the runtime
ACTIVATIONS = {
    "relu": common_spec.Activation.RELU,
    "gelu": common_spec.Activation.GELU,
    "gelu_fast": common_spec.Activation.GELUTanh,
    "gelu_accurate": common_spec.Activation.GELUTanh,
    "tanh": common_spec.Activation.Tanh,
    "swish": common_spec.Activation.SWISH,  # what --ffn swiglu stands for
}
# a model of the other layout is the same with reordered rows; this is the runtime's simpler kernel on the CPU
RUNTIME_LAYOUT = "half"


def transformer_model_spec(model: TransformerRopeModel, *, layout: str = RUNTIME_LAYOUT) -> Any:
    """Return the description of a model that `check_supported` has passed; its weights are copied in float32.

    Args:
        model: what was trained.
        layout: which pairs of dimensions the runtime rotates; the scores are the same with both.

    Returns: a TransformerSpec without its vocabularies.
    """
    encoder, decoder = (
        (stack, _rotation(model.cfg, stack.position_method, side))
        for side, stack in (("encoder", model.encoder), ("decoder", model.decoder))
    )
    encoder_spec = transformer_spec.TransformerEncoderSpec(
        len(model.encoder.layers), model.cfg.encoder.attention_heads, **_options(model, *encoder, layout)
    )
    decoder_spec = transformer_spec.TransformerDecoderSpec(
        len(model.decoder.layers),
        model.cfg.decoder.attention_heads,
        project_in_out=model.decoder.project_out_dim is not None,
        **_options(model, *decoder, layout),
    )
    for stack_spec, embeddings, (stack, rotation) in (
        (encoder_spec, encoder_spec.embeddings[0], encoder),
        (decoder_spec, decoder_spec.embeddings, decoder),
    ):
        _fill_stack(stack_spec, stack, embeddings, projection_rows(stack, rotation, layout=layout))
    _fill_linear(decoder_spec.projection, model.decoder.output_projection)
    if model.decoder.project_out_dim is not None:
        del decoder_spec.project_in
        _fill_linear(decoder_spec.project_out, model.decoder.project_out_dim)
    return transformer_spec.TransformerSpec(encoder_spec, decoder_spec)


def _rotation(cfg: Any, method: PositionMethod, side: str) -> RuntimeRotation | None:
    return runtime_rotation(cfg, method, side=side) if isinstance(method, RotaryEmbedding) else None


def _options(model: TransformerRopeModel, stack: Any, rotation: RuntimeRotation | None, layout: str) -> dict[str, Any]:
    """Return the options that encoder and decoder share."""
    return {
        "pre_norm": stack.layers[0].normalize_before,
        "no_final_norm": stack.layer_norm is None,
        "activation": ACTIVATIONS[model.cfg.activation_fn],
        "ffn_glu": model.cfg.ffn in GATES,
        "layernorm_embedding": stack.layernorm_embedding is not None,
        **position_options(stack, rotation, layout=layout),
    }


def _fill_stack(spec: Any, stack: Any, embeddings: Any, rows: Rows) -> None:
    embeddings.weight = _array(stack.embed_tokens.weight)
    spec.scale_embeddings = float(stack.embed_scale)
    fill_positions(spec, stack)
    if stack.layernorm_embedding is not None:
        _fill_norm(spec.layernorm_embedding, stack.layernorm_embedding)
    for layer_spec, layer in zip(spec.layer, stack.layers, strict=True):
        _fill_self_attention(layer_spec.self_attention, layer.self_attn, rows)
        _fill_norm(layer_spec.self_attention.layer_norm, layer.self_attn_layer_norm)
        if hasattr(layer_spec, "attention"):
            _fill_cross_attention(layer_spec.attention, layer.encoder_attn)
            _fill_norm(layer_spec.attention.layer_norm, layer.encoder_attn_layer_norm)
        _fill_feed_forward(layer_spec.ffn, layer)
        _fill_norm(layer_spec.ffn.layer_norm, layer.final_layer_norm)
    if stack.layer_norm is not None:
        _fill_norm(spec.layer_norm, stack.layer_norm)


def _fill_self_attention(spec: Any, attention: Any, rows: Rows) -> None:
    weights, biases = [], []
    for projection in (attention.q_proj, attention.k_proj):
        magnitude = rows.magnitude.to(projection.weight)
        weights.append(projection.weight[rows.order] * magnitude[:, None])
        biases.append(projection.bias[rows.order] * magnitude)
    # three of (E, E) -> (3 x E, E)
    spec.linear[0].weight = _array(torch.cat((*weights, attention.v_proj.weight)))
    spec.linear[0].bias = _array(torch.cat((*biases, attention.v_proj.bias)))
    _fill_linear(spec.linear[1], attention.out_proj)
    # not by setattr: the description is closed and lacks some of what the runtime reads
    vars(spec).update(rows.scaling)


def _fill_cross_attention(spec: Any, attention: Any) -> None:
    k, v = attention.k_proj, attention.v_proj
    _fill_linear(spec.linear[0], attention.q_proj)
    # two of (E, E of the encoder) -> (2 x E, E of the encoder)
    spec.linear[1].weight = _array(torch.cat((k.weight, v.weight)))
    spec.linear[1].bias = _array(torch.cat((k.bias, v.bias)))
    _fill_linear(spec.linear[2], attention.out_proj)


def _fill_feed_forward(spec: Any, layer: Any) -> None:
    if layer.gate is None:
        _fill_linear(spec.linear_0, layer.fc1)
    else:
        # (2 F, E) -> two of (F, E): the first is activated
        spec.linear_0.weight, spec.linear_0_noact.weight = map(_array, layer.fc1.weight.chunk(2))
        spec.linear_0.bias, spec.linear_0_noact.bias = map(_array, layer.fc1.bias.chunk(2))
    _fill_linear(spec.linear_1, layer.fc2)


def _fill_linear(spec: Any, linear: Any) -> None:
    spec.weight = _array(linear.weight)
    if linear.bias is not None:
        spec.bias = _array(linear.bias)


def _fill_norm(spec: Any, norm: Any) -> None:
    spec.gamma, spec.beta = _array(norm.weight), _array(norm.bias)


def _array(tensor: Tensor) -> NDArray[np.float32]:
    # a copy: the runtime's quantization scales in place
    return tensor.detach().to("cpu", torch.float32).numpy().copy()
