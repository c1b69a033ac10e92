"""The command line of fairseq-train that gives a component the options of a checkpoint."""

from argparse import Action, ArgumentParser, Namespace
from collections.abc import Iterator, Mapping
from typing import Any

from fairseq.models import ARCH_CONFIG_REGISTRY

from fairseq_rope_data.errors import UserError


def arch_defaults(arch: str) -> Namespace:
    """Return the options that an arch sets where none is given."""
    args = Namespace()
    ARCH_CONFIG_REGISTRY[arch](args)
    return args


def words_of(component: Any, values: Namespace, defaults: Namespace) -> list[str]:
    """Return the options of a model, criterion or optimizer that have other values than `defaults`.

    Raises:
        UserError: see `option_words`.
    """
    parser = ArgumentParser()
    component.add_args(parser)
    return list(option_words(parser, values, vars(defaults)))


def option_words(parser: ArgumentParser, values: Namespace, defaults: Mapping[str, Any]) -> Iterator[str]:
    """Yield the command line that gives `values` to a parser's options, less what is default anyway.

    Raises:
        UserError: fairseq-train would refuse a value, hours later.
    """
    for action in parser._actions:
        value = getattr(values, action.dest, None)
        default = defaults.get(action.dest, action.default)
        # an interpolation is the value of another component's option
        if value is None or str(value) == str(default) or str(default).startswith("${"):
            continue
        if action.nargs == 0:
            if value == action.const:
                yield action.option_strings[0]
        elif action.option_strings:
            option, word = action.option_strings[0], str(value)
            _check_word(action, word)
            # apart, a word that begins as an option is one: fairseq would import the folder of --user-dir=FOLDER
            yield from [f"{option}={word}"] if word.startswith("-") else [option, word]


def _check_word(action: Action, word: str) -> None:
    """Check that a parser takes a word as the value of an option."""
    convert: Any = action.type or str
    try:
        value = convert(word)
    except Exception as error:  # each type of fairseq's has its own
        raise _not_taken(action, word) from error
    if action.choices is not None and value not in action.choices:
        raise _not_taken(action, word)


def _not_taken(action: Action, word: str) -> UserError:
    option = action.option_strings[0]
    return UserError(f"fairseq-train does not take {option} as the checkpoint has it: {word[:40]!r}")
