"""Options that come from hydra reach a model that has no dataclass of them.

Symptom: `fairseq-hydra-train` gives the model a `DictConfig`, of which `TransformerConfig.from_namespace` takes over
what it knows: a model of a plugin ends with "invalid argument position_method". What a model sets itself is an error,
too: "Key 'max_source_positions' is not in struct".
omegaconf 2.0, with fairseq 0.12.2, has None for whatever is missing, so that archs set nothing.
fairseq 0.12.2 and main; can go when it copies other names of a `DictConfig`, too, as it does those of a namespace.
"""

from argparse import Namespace
from typing import Any

from fairseq.models import ARCH_CONFIG_REGISTRY
from omegaconf import DictConfig, OmegaConf


def as_namespace(options: Any) -> Namespace:
    """Return a model's options as a command line gives them; those are returned as they are, to be written to."""
    if not isinstance(options, DictConfig):
        return options
    found: Any = OmegaConf.to_container(options, resolve=True)
    args = Namespace(**{name: value for name, value in found.items() if value is not None})
    if getattr(args, "_name", None) in ARCH_CONFIG_REGISTRY:
        ARCH_CONFIG_REGISTRY[args._name](args)
    return args
