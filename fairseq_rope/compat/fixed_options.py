"""Overrides of what a rotary model cannot change after its training are refused before it is loaded.

Symptom: `--model-overrides "{'rope_base': 500}"` in fairseq-generate, fairseq-validate and fairseq-interactive builds
another model around the weights and translates with it, without a word. Where the tensors' shapes differ there is an
error, of tensors.
fairseq 0.12.2 and main; can go when fairseq lets a model say which of its options are fixed.
"""

from argparse import Namespace
from collections.abc import Callable
from typing import Any

from fairseq import checkpoint_utils

from fairseq_rope.compat.wrapping import wrap
from fairseq_rope_data.errors import UserError

# option of rotary models -> what a checkpoint has that does not tell it, being older than the option
FIXED = {
    "rope_base": 10000.0,
    "rope_fraction": 1.0,
    "rope_layout": "interleaved",
    "rope_restart_after": None,
    "position_method": "rope",
    "sinusoid_scale": 1.0,
    "ffn": None,
    "segments": 0,
    "layer_norm_eps": 1e-5,
}
# fairseq's own, with which the same weights make another model; a checkpoint that has none tells nothing of it
FIXED_OF_FAIRSEQ = ("encoder_attention_heads", "decoder_attention_heads", "activation_fn", "no_scale_embedding")
# those that can change; of others of this prefix nothing is known: a misspelt one would be ignored
CHANGEABLE = ("rope_scaling", "rope_scaling_factor", "rope_original_length")


def fixed_options(trained: dict[str, Any]) -> dict[str, Any]:
    """Return those options of a model, trained with `trained`, that make another model of the same weights."""
    defaults = FIXED if "rope_base" in trained else {}
    return {**defaults, **{name: trained[name] for name in (*FIXED, *FIXED_OF_FAIRSEQ) if name in trained}}


def refuse_fixed_overrides() -> None:
    """Check the overrides of `checkpoint_utils.load_checkpoint_to_cpu`, by which all of fairseq loads."""
    wrap(checkpoint_utils, "load_checkpoint_to_cpu", _load_unchanged)


def _load_unchanged(
    load: Callable[..., dict[str, Any]],
    path: str,
    arg_overrides: dict[str, Any] | None = None,
    *args: Any,
    **kwargs: Any,
) -> dict[str, Any]:
    overrides = {name: value for name, value in (arg_overrides or {}).items() if _is_watched(name)}
    if overrides:  # seldom, for it reads the file twice: fairseq overwrites the options as it reads them
        _check_fixed(_trained_options(load(path, None, *args, **kwargs)), overrides, path)
    return load(path, arg_overrides, *args, **kwargs)


def _is_watched(name: str) -> bool:
    return name not in CHANGEABLE and (name in FIXED or name in FIXED_OF_FAIRSEQ or name.startswith("rope_"))


def _check_fixed(trained: dict[str, Any], overrides: dict[str, Any], path: str) -> None:
    """Check that overrides are what a rotary model was trained with; of other models nothing is known.

    Raises:
        UserError: one is not, or is no option.
    """
    if "rope_base" not in trained:
        return
    for name, value in overrides.items():
        if name not in FIXED and name not in FIXED_OF_FAIRSEQ:
            raise UserError(
                f"--model-overrides: there is no option {name}; after training {', '.join(CHANGEABLE)} can change"
            )
        before = trained.get(name, FIXED.get(name, value))
        if value != before:
            raise UserError(
                f"--model-overrides: {name} must stay {before!r}, as {path} was trained with it, but is {value!r}"
            )


def _trained_options(state: dict[str, Any]) -> dict[str, Any]:
    """Return the options of a checkpoint's model, by their names."""
    options = state.get("args") or (state.get("cfg") or {}).get("model") or {}
    return vars(options) if isinstance(options, Namespace) else dict(options)
