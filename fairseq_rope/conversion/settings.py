"""What an original was trained with, as a conf of scripts/convert_to_rope.sh: a line of shell for each setting."""

import math
import shlex
from argparse import ArgumentParser, Namespace
from typing import Any

from fairseq.models.transformer import TransformerModel
from fairseq.registry import REGISTRIES

from fairseq_rope.checkpoints.command_line import arch_defaults, option_words, words_of
from fairseq_rope.conversion.original import Original, check_sets
from fairseq_rope.conversion.rotary import ARCH, rotary_options, stock_options
from fairseq_rope.models.translation import TransformerRopeModel
from fairseq_rope_data.errors import UserError

# of the translation task: how sentences become batches; languages have a setting of their own
_TASK = ("left_pad_source", "left_pad_target", "max_source_positions", "max_target_positions", "truncate_source")


def settings_text(original: Original) -> str:
    """Return languages, test sets, updates, highest learning rate, batch, both models, criterion and optimizer.

    Raises:
        UserError: the checkpoint does not say what is needed, or in words where it must be numbers; DATA lacks a set.
    """
    if original.updates < 1:
        raise UserError(f"--from {original.path} must say after how many updates it was saved, but does not")
    optimization, batch = original.section("optimization"), original.section("dataset").get("max_tokens")
    peak = max(_numbers(original, "lr", optimization.get("lr") or 0))
    if not 0 < peak < math.inf:
        raise UserError(f"--from {original.path} must say its learning rate, above 0, but has {peak}")
    settings: dict[str, Any] = {
        "SOURCE_LANG": original.task.cfg.source_lang,
        "TARGET_LANG": original.task.cfg.target_lang,
        "TEST_SETS": check_sets(original),
        "BPE": _bpe(original),
        "ORIGINAL_UPDATES": original.updates,
        "PEAK_RATE": peak,
        "MODEL_CONVERTED": rotary_words(original.model),
        "MODEL_CONTINUED": stock_words(original.model),
        "TRAIN": [*_component(original, "criterion"), *_component(original, "optimizer"), *_rest(original)],
    }
    if batch:
        workers = original.section("distributed_training").get("distributed_world_size") or 1
        frequency = optimization.get("update_freq") or 1
        factors = {"max_tokens": batch, "distributed_world_size": workers, "update_freq": frequency}
        settings["BATCH_TOKENS"] = math.prod(_numbers(original, *factor)[-1] for factor in factors.items())
    return "\n".join(f"{name}={_quoted(value)}" for name, value in settings.items())


def rotary_words(original: Namespace) -> list[str]:
    """Return the options of fairseq-train that make the rotary model of an original with these options."""
    return ["--arch", ARCH, *words_of(TransformerRopeModel, rotary_options(original), arch_defaults(ARCH))]


def stock_words(original: Namespace) -> list[str]:
    """Return the options of fairseq-train that make an original's model itself, with no embeddings to load."""
    return ["--arch", original.arch, *words_of(TransformerModel, stock_options(original), arch_defaults(original.arch))]


def _component(original: Original, kind: str) -> list[str]:
    """Return the options that choose the criterion or optimizer, and its own."""
    section = original.section(kind)
    name = str(section.get("_name"))
    registered = REGISTRIES[kind]["registry"].get(name)
    if registered is None:
        raise UserError(f"--from {original.path}: this installation has no --{kind} {name}")
    return [f"--{kind}", name, *words_of(registered, Namespace(**section), Namespace())]


def _rest(original: Original) -> list[str]:
    """Return what belongs to no component: clipping, weights of sentences, padding and lengths of the batches."""
    optimization, dataset, task = map(original.section, ("optimization", "dataset", "task"))
    words = ["--clip-norm", str(*_numbers(original, "clip_norm", optimization.get("clip_norm", 0.0)))]
    flags = {"sentence_avg": optimization, "skip_invalid_size_inputs_valid_test": dataset}
    words += [_option(name) for name, section in flags.items() if section.get(name)]
    parser = ArgumentParser()
    type(original.task).add_args(parser)
    kept = Namespace(**{name: task[name] for name in _TASK if name in task})
    return [*words, *option_words(parser, kept, {})]


def _numbers(original: Original, name: str, value: Any) -> list[Any]:
    """Return the numbers of an option that has one or several; a shell would run what stands among text.

    Raises:
        UserError: one of them is something else.
    """
    numbers = value if isinstance(value, list) else [value]
    for number in numbers:
        if type(number) not in (int, float):  # true is none
            raise UserError(f"--from {original.path}: its option {name} must be a number, but is {str(number)[:40]!r}")
    return numbers


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _bpe(original: Original) -> str:
    """Return how words of DATA are joined: sentencepiece where more of them begin with its mark than end with @@."""
    symbols = original.task.target_dictionary.symbols
    pieces = sum(symbol.startswith("\u2581") for symbol in symbols)
    parts = sum(symbol.endswith("@@") for symbol in symbols)
    return "sentencepiece" if pieces > parts else "subword_nmt"


def _quoted(value: Any) -> str:
    return f"({shlex.join(value)})" if isinstance(value, list) else shlex.quote(str(value))
