"""fairseq 0.12.2's encoder layer: a fused kernel that works on copies of the weights.

Symptom: in evaluation, after a checkpoint was loaded, the layer never calls `self_attn`, so that another attention is
ignored; and the copies are parameters without a gradient, which stop default DDP. In newer torch a stock
post-norm model ends with "Mask Type should be defined" where a batch has padding: so did `convert_to_rope.sh`, which
scores the original.
fairseq 0.12.2 alone (main reports this version too, and has no such path); can go with Python 3.10.
"""

from collections.abc import Callable
from typing import Any

from fairseq.modules.transformer_layer import TransformerEncoderLayerBase
from torch import Tensor, nn

from fairseq_rope.compat.wrapping import wrap

_COPIES = (
    *("in_proj_weight", "in_proj_bias", "out_proj_weight", "out_proj_bias"),
    *("fc1_weight", "fc1_bias", "fc2_weight", "fc2_bias"),
)


class NoFastPath(nn.Module):
    """To be named before fairseq's encoder layer among a class's bases."""

    def drop_fast_path(self) -> None:
        """Remove the copies; called once, at the end of the layer's construction."""
        for name in _COPIES:
            if name in self._parameters:
                delattr(self, name)

    def _load_from_state_dict(self, *args: object) -> None:
        # fairseq 0.12.2 overrides this to fill the copies
        nn.Module._load_from_state_dict(self, *args)


def switch_off_fast_path() -> None:
    """Let the layers of all models, stock ones too, attend by their `self_attn`."""
    wrap(TransformerEncoderLayerBase, "__init__", _build_without)


def _build_without(build: Callable[..., None], layer: nn.Module, *args: Any, **kwargs: Any) -> None:
    build(layer, *args, **kwargs)
    setattr(layer, "can_use_fastpath", False)  # noqa: B010  a module declares no such thing


def drop_copies(state_dict: dict[str, Tensor], name: str) -> None:
    """Take the copies out of a checkpoint's layers under `name`, those that --encoder-layers-to-keep prunes too."""
    for key in [key for key in state_dict if key.startswith(f"{name}.layers.")]:
        if key.rpartition(".")[2] in _COPIES:
            del state_dict[key]
