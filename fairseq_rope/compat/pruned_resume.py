"""A training that keeps some layers of the model it begins with starts, and can be resumed by the same command.

Symptom: with `--finetune-from-model` and `--encoder-layers-to-keep 0,2` the first start takes these layers and numbers
them anew; when it is resumed fairseq looks for them once more among the two that are left, and ends with "Cannot load
model parameters from checkpoint". So does a first start where layers of one stack alone are to be kept, for fairseq
drops all of the other one.
fairseq 0.12.2 and main; can go when fairseq sees that a checkpoint is pruned already, and keeps the stack of
which nothing is said.
"""

import logging
import re
from collections.abc import Callable, Mapping
from typing import Any

from fairseq import checkpoint_utils

from fairseq_rope.compat.wrapping import wrap

logger = logging.getLogger(__name__)


def resume_pruned_trainings() -> None:
    """Wrap `checkpoint_utils.prune_state_dict`, through which all weights are loaded."""
    wrap(checkpoint_utils, "prune_state_dict", _prune_once)


def _prune_once(prune: Callable[..., Any], state_dict: Mapping[str, Any], model_cfg: Any) -> Any:
    names = {stack: f"{stack}_layers_to_keep" for stack in ("encoder", "decoder")}
    asked = {stack: getattr(model_cfg, name, None) for stack, name in names.items()}
    for stack, kept in asked.items():
        layers = {found[1] for key in state_dict if (found := re.search(rf"^{stack}.*?\.layers\.(\d+)\.", key))}
        if kept and len(kept.split(",")) == len(layers):
            logger.info("--%s %s: these layers alone are in the checkpoint", names[stack].replace("_", "-"), kept)
        elif kept or not layers or not any(asked.values()):
            continue
        setattr(model_cfg, names[stack], ",".join(sorted(layers, key=int)))
    return prune(state_dict, model_cfg)
