"""Options that come from hydra reach a model that has no dataclass of them.

Symptom: `fairseq-hydra-train` gives the model a `DictConfig`, of which `TransformerConfig.from_namespace` takes over
what it knows: a model of a plugin ends with "invalid argument position_method". What a model sets itself is an error,
too: "Key 'max_source_positions' is not in struct".
fairseq has no schema of such a model: a name that is no option, misspelt say, would be without effect, and a value
would keep the type it was written with, so that `encoder_layers_to_keep: 0` is none and "false" is true.
fairseq prunes by `encoder_layers_to_keep`, forgets it then and saves the rest: without the number of layers that are
left, which a model sets, a checkpoint could not be loaded.
omegaconf 2.0, with fairseq 0.12.2, has None for whatever is missing, so that archs set nothing, and the trainer, which
compares `base_layers` with 0, could save no checkpoint.
fairseq 0.12.2 and main; can go when it copies other names of a `DictConfig`, too, as it does those of a namespace.
"""

from argparse import SUPPRESS, Action, ArgumentParser, Namespace
from typing import Any

from fairseq.models import ARCH_CONFIG_REGISTRY, BaseFairseqModel
from omegaconf import BooleanNode, DictConfig, FloatNode, IntegerNode, OmegaConf, StringNode, open_dict
from omegaconf.errors import ValidationError

from fairseq_rope.compat.layers_to_keep import write_kept_layers_as_text

# type of an option on the command line -> hydra's, and what it takes
_NODES: dict[Any, tuple[Any, str]] = {
    bool: (BooleanNode, "true or false"),
    int: (IntegerNode, "a whole number"),
    float: (FloatNode, "a number"),
}


def as_namespace(options: Any, model: type[BaseFairseqModel]) -> Namespace:
    """Return the options of `model` as a command line gives them; those are returned themselves, to be written to.

    Which layers are kept is text in both. It, how many they are, and `base_layers` are written to hydra's, too.

    Raises:
        ValueError: one is no option of the model, or has not its type.
    """
    if not isinstance(options, DictConfig):
        write_kept_layers_as_text(options)
        return options
    found: Any = OmegaConf.to_container(options, resolve=True)
    args = Namespace(**{name: value for name, value in found.items() if value is not None})
    write_kept_layers_as_text(args)
    set_defaults = ARCH_CONFIG_REGISTRY.get(found.get("_name"))
    if set_defaults is None:
        return args
    parser, defaults = ArgumentParser(argument_default=SUPPRESS), Namespace()
    model.add_args(parser)
    set_defaults(defaults)
    actions = {action.dest: action for action in parser._actions}
    for name in vars(args):  # not None, which fairseq 0.12.2 writes to both `layers_to_keep` of models with one stack
        if name not in {"_name", "arch", "base_layers", *vars(defaults), *actions}:
            raise ValueError(f"model.{name} is no option of {found['_name']}")
    for name in vars(args).keys() & actions.keys():
        setattr(args, name, _typed(vars(args)[name], actions[name]))
    set_defaults(args)
    with open_dict(options):
        _write_back(args, options)
    return args


def _write_back(args: Namespace, options: DictConfig) -> None:
    """Write to `options` what fairseq reads there: which layers to keep, how many these are, and `base_layers`."""
    options.base_layers = getattr(args, "base_layers", 0)
    for side in ("encoder", "decoder"):
        kept = getattr(args, f"{side}_layers_to_keep", None)
        if kept:
            options[f"{side}_layers_to_keep"] = kept
            options[f"{side}_layers"] = len(kept.split(","))


def _typed(value: Any, action: Action) -> Any:
    """Return a value with the type of its option, as fairseq's schemas do for models that have one."""
    if type(value) not in (str, int, float):
        return value
    kind = bool if action.nargs == 0 else action.type
    node, rule = _NODES.get(kind, (StringNode, "text"))
    try:
        return node(value)._value()
    except ValidationError:
        raise ValueError(f"model.{action.dest} must be {rule}, but is {value!r}") from None
