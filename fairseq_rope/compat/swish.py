"""`swish` is a function, as all other activations are.

Symptom: an encoder with `--ffn swiglu` ends its first step with "layer_norm(): argument 'input' must be Tensor, not
SiLU", in the head of masked tokens: fairseq gives torch's class, which makes a module of what it is called with.
fairseq 0.12.2 and main; can go when `get_activation_fn` gives a function.
"""

from collections.abc import Callable

from fairseq import utils
from torch import Tensor
from torch.nn import functional as F

from fairseq_rope.compat.wrapping import wrap

_Activation = Callable[[Tensor], Tensor]


def make_swish_a_function() -> None:
    """Let `utils.get_activation_fn`, which all of fairseq asks, give one."""
    wrap(utils, "get_activation_fn", _function)


def _function(get: Callable[[str], _Activation], activation: str) -> _Activation:
    return F.silu if activation == "swish" else get(activation)
