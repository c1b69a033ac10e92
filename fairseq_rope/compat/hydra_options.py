"""Options that come from hydra reach a model that has no dataclass of them.

Symptom: `fairseq-hydra-train` gives the model a `DictConfig`, of which `TransformerConfig.from_namespace` takes over
what it knows: a model of a plugin ends with "invalid argument position_method". What a model sets itself is an error,
too: "Key 'max_source_positions' is not in struct".
A name that is no option, misspelt say, would be without effect: fairseq has no schema of such a model.
omegaconf 2.0, with fairseq 0.12.2, has None for whatever is missing, so that archs set nothing.
fairseq 0.12.2 and main; can go when it copies other names of a `DictConfig`, too, as it does those of a namespace.
"""

from argparse import SUPPRESS, ArgumentParser, Namespace
from typing import Any

from fairseq.models import ARCH_CONFIG_REGISTRY, BaseFairseqModel
from omegaconf import DictConfig, OmegaConf


def as_namespace(options: Any, model: type[BaseFairseqModel]) -> Namespace:
    """Return the options of `model` as a command line gives them; those are returned as they are, to be written to.

    Raises:
        ValueError: one is no option of the model.
    """
    if not isinstance(options, DictConfig):
        return options
    found: Any = OmegaConf.to_container(options, resolve=True)
    args = Namespace(**{name: value for name, value in found.items() if value is not None})
    set_defaults = ARCH_CONFIG_REGISTRY.get(found.get("_name"))
    if set_defaults is None:
        return args
    _check_names(found, model, set_defaults)
    set_defaults(args)
    return args


def _check_names(found: dict[str, Any], model: type[BaseFairseqModel], set_defaults: Any) -> None:
    parser, defaults = ArgumentParser(argument_default=SUPPRESS), Namespace()
    model.add_args(parser)
    set_defaults(defaults)
    known = {"_name", "arch", *vars(defaults), *(action.dest for action in parser._actions)}
    for name in found:
        if name not in known:
            raise ValueError(f"model.{name} is no option of {found['_name']}")
