"""fairseq 0.12.2 loads checkpoints whose task, criterion or model has options of the main branch.

Symptom: "Key 'include_index' not in 'MaskedLMConfig'" for an encoder that was trained with the main branch, in Python,
`fairseq-validate`, `masked` and `classify`. The main branch leaves out what it does not know of a checkpoint's task, as
it must be here: these options are of new tasks' data and of what is logged, not of a model.
A model's own option stands in checkpoints of `fairseq-hydra-train`: "model.merge_src_tgt_embed is no option of
transformer_rope". It is left out where it is not used.
fairseq 0.12.2 alone; can go with Python 3.10.
"""

from collections.abc import Callable
from typing import Any

from fairseq import checkpoint_utils
from fairseq.criterions import CRITERION_DATACLASS_REGISTRY
from fairseq.models.transformer import TransformerConfig
from fairseq.tasks import TASK_DATACLASS_REGISTRY
from omegaconf import DictConfig, open_dict

from fairseq_rope.compat.wrapping import wrap

# option of models -> its value where the model is one of 0.12.2
_OF_MODELS = {"merge_src_tgt_embed": False}

_REGISTRIES = {"task": TASK_DATACLASS_REGISTRY, "criterion": CRITERION_DATACLASS_REGISTRY}


def leave_out_newer_options() -> None:
    """Leave them out of what `checkpoint_utils.load_checkpoint_to_cpu` reads, by which all of fairseq loads."""
    wrap(checkpoint_utils, "load_checkpoint_to_cpu", _load_known)


def _load_known(load: Callable[..., dict[str, Any]], *args: Any, **kwargs: Any) -> dict[str, Any]:
    state = load(*args, **kwargs)
    cfg = state.get("cfg") or {}
    # by `in`, for omegaconf 2.0 fails where `get` asks for what is not there
    for name in [name for name in _REGISTRIES if name in cfg]:
        section, registry = cfg[name], _REGISTRIES[name]
        if isinstance(section, DictConfig) and "_name" in section and section["_name"] in registry:
            _keep(section, registry[section["_name"]].__dataclass_fields__)
    if "model" in cfg and isinstance(cfg["model"], DictConfig):
        _leave_out_unused(cfg["model"])
    return state


def _keep(section: DictConfig, known: dict[str, Any]) -> None:
    with open_dict(section):
        for option in [option for option in section if option not in known]:
            del section[option]


def _leave_out_unused(model: DictConfig) -> None:
    with open_dict(model):
        for option, unused in _OF_MODELS.items():
            if option in model and option not in TransformerConfig.__dataclass_fields__ and model[option] == unused:
                del model[option]
