"""What CTranslate2 does not support in a rotary model: an error by the option's name, never left out."""

import re
from typing import Any

import numpy as np
import torch
from torch import Tensor

from fairseq_rope.compat.unset_buffers import is_unset
from fairseq_rope.export.ctranslate2.rotation import runtime_rotation
from fairseq_rope.export.ctranslate2.spec import ACTIVATIONS
from fairseq_rope.models._scaling import scaled_schedule, stack_scaling
from fairseq_rope.models.translation import TransformerRopeModel
from fairseq_rope.modules.positions.rotary import RotaryEmbedding
from fairseq_rope.modules.positions.xpos import XPos
from fairseq_rope_data.errors import UserError

# option of fairseq's transformer -> why the runtime cannot do it
_OPTIONS = {
    "adaptive_softmax_cutoff": "it has one softmax over all words",
    "quant_noise_pq": "it has no product between the embedding and the first layer",
    "quant_noise_scalar": "its rounding is that of its own --quantization",
    "no_cross_attention": "its decoder reads the source",
    "base_layers": "it has no BASE layers",
    "rope_restart_after": "it counts positions from the start of the sequence only",
}
# all that `spec` copies; `version` is fairseq's own
_WEIGHT = re.compile(
    r"(encoder|decoder)\.("
    r"version|embed_tokens\.weight|embed_positions\.(weight|_float_tensor)|position_weights\.biases|"
    r"layers\.\d+\.self_attn\.position_weights\.relative_(keys|values)|"
    r"(layernorm_embedding|layer_norm)\.(weight|bias)|(output_projection|project_out_dim)\.weight|"
    r"layers\.\d+\.((self_attn|encoder_attn)\.[qkv]_proj|(self_attn|encoder_attn)\.out_proj|fc[12]|"
    r"(self_attn|encoder_attn|final)_layer_norm)\.(weight|bias))"
)


def check_supported(model: TransformerRopeModel, *, quantization: str = "float32") -> None:
    """Check that CTranslate2 can compute a model exactly, but for the rounding of `quantization`.

    Raises:
        UserError: an option or a weight that the runtime does not support, or a weight that is no number; the text
            names it.
    """
    for option, reason in _OPTIONS.items():
        if getattr(model.args, option, None):
            raise _unsupported(option, reason)
    activation = model.cfg.activation_fn
    if activation not in ACTIVATIONS:
        raise _unsupported(f"activation_fn {activation}", f"it has {', '.join(ACTIVATIONS)}")
    for side, stack in (("encoder", model.encoder), ("decoder", model.decoder)):
        if not stack.layers:
            raise _unsupported(f"{side}_layers 0", "it needs one")
        if isinstance(stack.position_method, XPos):
            raise _unsupported("position_method xpos", "its rotation does not stretch")
        if isinstance(stack.position_method, RotaryEmbedding):
            _check_rotation(model.cfg, stack.position_method, side, quantization)
    unknown = [name for name in model.state_dict() if not _WEIGHT.fullmatch(name)]
    if unknown:
        raise UserError(f"the model cannot be exported to CTranslate2: it has no place for {', '.join(unknown[:3])}")
    for name, weight in model.state_dict().items():
        if not is_unset(name):
            _check_numbers(name, weight, quantization)


def _check_numbers(name: str, weight: Tensor, quantization: str) -> None:
    """Check that a weight is a number wherever it is stored; the runtime would translate, but not as fairseq."""
    numbers = f"{{}} of {weight.numel():,} numbers of {name}"
    if odd := int((~weight.isfinite()).sum()):
        raise UserError(f"the model cannot be exported to CTranslate2: {numbers.format(odd)} are NaN or infinite")
    # bfloat16 reaches as far as float32
    if quantization in ("float16", "int8_float16") and (large := int(weight.half().isinf().sum())):
        raise UserError(
            f"the model cannot be exported to CTranslate2 with --quantization {quantization}: "
            f"{numbers.format(large)} are beyond what float16 holds"
        )


def _check_rotation(cfg: Any, rotary: RotaryEmbedding, side: str, quantization: str) -> None:
    """Check that the runtime can compute the frequencies of a stack, from numbers in float32."""
    scaling = stack_scaling(cfg, side=side)
    expected = scaled_schedule(scaling, base=cfg.rope_base, rotary_dim=rotary.rotary_dim)(rotary.rotary_dim)
    if not torch.equal(rotary.theta, expected.theta) or rotary.magnitude != expected.magnitude:
        raise UserError(
            "the model cannot be exported to CTranslate2: its frequencies are not those of --rope-base and "
            "--rope-scaling"
        )
    base, attributes, _ = runtime_rotation(cfg, rotary, side=side)
    if not np.isfinite(base) or base == 0:
        option = "rope_base" if scaling.name != "ntk" else "rope_scaling_factor"
        raise _unsupported(f"{option} {getattr(cfg, option)}", "it keeps the base in float32")
    if not all(np.isfinite(values).all() for values in attributes.values()):
        raise _unsupported(f"rope_scaling_factor {cfg.rope_scaling_factor}", "it keeps the factor in float32")
    if scaling.name == "yarn" and quantization not in ("float32", "int16", "int8", "int8_float32"):
        raise UserError(
            f"--rope-scaling yarn cannot be exported to CTranslate2 with --quantization {quantization}: "
            "its frequencies would be rounded to 16 bits"
        )


def _unsupported(option: str, reason: str) -> UserError:
    return UserError(f"--{option.replace('_', '-')} cannot be exported to CTranslate2: {reason}")
