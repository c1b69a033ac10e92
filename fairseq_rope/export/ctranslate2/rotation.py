"""The rotation of a stack in the terms of CTranslate2: a base, one of its scalings, a factor of queries and keys.

The runtime's scalings: Linear divides positions; Llama3 is Llama 3.1's; Su, of Phi-3, divides each frequency by a
number of its own, and so can be any schedule. Its numbers are float32.
"""

from typing import Any, NamedTuple

import numpy as np
import torch
from ctranslate2.specs.attention_spec import RotaryScalingType

from fairseq_rope.models._scaling import stack_scaling
from fairseq_rope.modules.positions.frequencies import LLAMA3_TURNS, inverse_frequencies
from fairseq_rope.modules.positions.rotary import RotaryEmbedding


class RuntimeRotation(NamedTuple):
    """What the runtime reads.

    Attributes:
        base: of the frequencies, before scaling.
        attributes: of the scaling, name -> value, for each self-attention; none without one.
        magnitude: the factor of rotated queries and keys, which the runtime has not: it goes into their weights.
    """

    base: Any
    attributes: dict[str, Any]
    magnitude: float


def runtime_rotation(cfg: Any, rotary: RotaryEmbedding, *, side: str) -> RuntimeRotation:
    """Return the rotation of the encoder or decoder, `side`; what is too large for float32 is infinite."""
    name, factor, original_length = stack_scaling(cfg, side=side)
    base, rotary_dim = cfg.rope_base, rotary.rotary_dim
    attributes: dict[str, Any] = {}
    with np.errstate(over="ignore"):
        if name == "ntk":
            base = np.float64(base) * np.float64(factor) ** (rotary_dim / (rotary_dim - 2))
        elif name == "linear":
            attributes = {"rotary_scaling_type": _type("Linear"), "rotary_scaling_factor": np.float32(factor)}
        elif name == "llama3":
            high, low = LLAMA3_TURNS
            attributes = {
                "rotary_scaling_type": _type("Llama3"),
                "rotary_scaling_factor": np.float32(factor),
                "rotary_high_freq_factor": np.float32(high),
                "rotary_low_freq_factor": np.float32(low),
                "original_max_position_embeddings": np.int32(original_length),
            }
        elif name == "yarn":
            slowdown = inverse_frequencies(rotary_dim, base=base).theta / rotary.theta
            factors = slowdown.to(torch.float32).numpy()
            attributes = {
                "rotary_scaling_type": _type("Su"),
                "rotary_scaling_long_factor": factors,
                "rotary_scaling_short_factor": factors,
            }
        return RuntimeRotation(np.float32(base), attributes, rotary.magnitude)


def _type(name: str) -> Any:
    return np.int8(RotaryScalingType[name])
