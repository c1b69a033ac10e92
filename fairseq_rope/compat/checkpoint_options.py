"""A checkpoint with code in an option is refused when it is read, before anything is built from it.

Symptom: as of `no_eval`, which keeps such code from running; but its error can name neither checkpoint nor option, and
a training, which has options of its own and takes over the weights only, would not meet it at all.
fairseq 0.12.2 and main; can go when fairseq parses options instead of evaluating them.
"""

from argparse import Namespace
from collections.abc import Callable, Iterator
from typing import Any

from fairseq import checkpoint_utils
from omegaconf import DictConfig, ListConfig, OmegaConf

from fairseq_rope.compat.plain_data import NotPlainData, evaluate
from fairseq_rope.compat.wrapping import wrap
from fairseq_rope_data.errors import UserError

# what fairseq evaluates, in models, criterions, tasks and optimizers; tests compare it with fairseq's sources
EVALUATED = frozenset(
    {
        *("adafactor_eps", "adam_betas", "adamax_betas", "lamb_betas", "wer_args"),
        *("adaptive_input_cutoff", "adaptive_softmax_cutoff", "character_filters"),
        *("conv_aggregator_layers", "conv_feature_layers", "feature_encoder_spec"),
        *("encoder_attention", "decoder_attention", "encoder_layers", "decoder_layers", "self_attention"),
        *("downsample", "gated_attention", "pretrained", "project_input"),
        *("encoder_xformers_att_config", "decoder_xformers_att_config"),
        *("left_pad_source", "left_pad_target"),
        *("pipeline_balance", "pipeline_encoder_balance", "pipeline_decoder_balance"),
        *("pipeline_devices", "pipeline_encoder_devices", "pipeline_decoder_devices"),
    }
)


class UnsafeCheckpoint(NotPlainData, UserError):
    """A checkpoint that holds code where fairseq expects data."""


def refuse_code_in_checkpoints() -> None:
    """Check the options of what `checkpoint_utils.load_checkpoint_to_cpu` reads, by which all of fairseq loads."""
    wrap(checkpoint_utils, "load_checkpoint_to_cpu", _load_checked)


def _load_checked(load: Callable[..., dict[str, Any]], path: str, *args: Any, **kwargs: Any) -> dict[str, Any]:
    state = load(path, *args, **kwargs)
    check_options(state, path)
    return state


def check_options(state: dict[str, Any], path: str) -> None:
    """Check the options that a checkpoint was trained with.

    Args:
        state: the checkpoint.
        path: its file, for the message.

    Raises:
        UnsafeCheckpoint: an option that fairseq evaluates is more than plain data.
    """
    for name, value in [*_texts(state.get("cfg")), *_texts(state.get("args"))]:
        # not given, or an interpolation: another option's value, which has its own place here
        if name.rpartition(".")[2] not in EVALUATED or value in ("", "???") or value.startswith("${"):
            continue
        try:
            evaluate(value)
        except NotPlainData as error:
            raise UnsafeCheckpoint(f"cannot load {path}: its option {name}", value) from error


def _texts(node: Any, name: str = "") -> Iterator[tuple[str, str]]:
    """Yield all options below a node that are text, with their full names."""
    if isinstance(node, str):
        yield name, node
        return
    if isinstance(node, DictConfig | ListConfig):
        node = OmegaConf.to_container(node)  # unresolved: a missing or a wrong interpolation is no matter here
    if isinstance(node, Namespace):
        node = vars(node)
    items = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list | tuple) else ()
    for key, value in items:
        yield from _texts(value, f"{name}.{key}".lstrip("."))
