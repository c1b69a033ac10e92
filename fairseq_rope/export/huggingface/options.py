"""The same model as options of `roformer`: those that make it, and what of them Hugging Face cannot be, by name."""

from argparse import Namespace
from typing import Any

from fairseq_rope.export.huggingface.config import ACTIVATIONS, ModelConfig
from fairseq_rope_data.errors import UserError

# option -> the only value that can be expressed, and why
_REQUIRED: dict[str, tuple[Any, str]] = {
    "position_method": ("rope", "its RoFormer has no other positions"),
    "rope_base": (10000.0, "the base of its RoFormer is 10000"),
    "rope_fraction": (1.0, "all dimensions of its RoFormer's heads rotate"),
    "rope_scaling": ("none", "its RoFormer has no scaling"),
    "rope_restart_after": (None, "its RoFormer counts positions from the start of the input only"),
    "encoder_normalize_before": (False, "its RoFormer is post-norm"),
    "layernorm_embedding": (True, "its RoFormer has a norm after the embeddings"),
    "no_scale_embedding": (True, "its RoFormer does not scale embeddings"),
    "adaptive_input": (False, "its RoFormer has one embedding of all words"),
    "base_layers": (0, "its RoFormer has no BASE layers"),
    "encoder_layers_to_keep": (None, "export a checkpoint that has been trained without it"),
    "quant_noise_pq": (0, "its RoFormer is not quantized"),
    "quant_noise_scalar": (0, "its RoFormer is not quantized"),
    "spectral_norm_classification_head": (False, "its RoFormer's head has no spectral norm"),
}
# option -> its least value
_SIZES = {
    "encoder_layers": 0,
    "encoder_embed_dim": 1,
    "encoder_ffn_embed_dim": 1,
    "encoder_attention_heads": 1,
    "max_positions": 1,
    "segments": 0,
}
_GATED = ("geglu", "swiglu")
# its tokenizers number the second sentence's tokens 1, so that its models have to have two
_LEAST_TOKEN_TYPES = 2


def train_options(config: ModelConfig) -> list[str]:
    """Return the options of fairseq-train that make a model, among them the activation of heads to come."""
    values = {
        "--arch": "roformer",
        "--encoder-layers": config.num_layers,
        "--encoder-embed-dim": config.hidden_size,
        "--encoder-ffn-embed-dim": config.ffn_size,
        "--encoder-attention-heads": config.num_heads,
        "--activation-fn": config.activation,
        "--pooler-activation-fn": config.activation,
        "--dropout": config.dropout,
        "--attention-dropout": config.attention_dropout,
        "--pooler-dropout": config.dropout,
        "--layer-norm-eps": config.layer_norm_eps,
        "--segments": config.token_types,
        "--position-method": "rope",
        "--rope-layout": "interleaved",
        "--max-positions": config.max_length,
    }
    words = [str(word) for pair in values.items() for word in pair]
    return words if config.is_tied else [*words, "--untie-weights-roberta"]


def model_config(
    options: Namespace, *, vocab_size: int, max_length: int | None, labels: tuple[str, ...] | None
) -> ModelConfig:
    """Return what a checkpoint's options say of its model.

    Args:
        options: of the checkpoint, with the defaults of its arch.
        vocab_size: of its dictionary, V.
        max_length: in the place of the model's own, if it is given.
        labels: of the head to export; None for the head of masked tokens.

    Raises:
        UserError: an option that cannot be expressed; the text names it.
    """
    for option, (value, reason) in _REQUIRED.items():
        given = getattr(options, option, value)
        if given != value:
            raise _unsupported(option, given, reason)
    if getattr(options, "ffn", None) in _GATED:
        raise _unsupported("ffn", options.ffn, "its RoFormer has no gated layers")
    _check_sizes(options)
    activation = options.activation_fn
    if not isinstance(activation, str) or activation not in ACTIVATIONS:
        raise _unsupported("activation_fn", activation, f"it must be one of {', '.join(ACTIVATIONS)}")
    pooler = options.pooler_activation_fn
    if labels is not None and ACTIVATIONS.get(pooler) != ACTIVATIONS[activation]:
        reason = f"its RoFormer's head has the activation of the layers, here {activation}"
        raise _unsupported("pooler_activation_fn", pooler, reason)
    return ModelConfig(
        vocab_size=vocab_size,
        hidden_size=options.encoder_embed_dim,
        num_layers=options.encoder_layers,
        num_heads=options.encoder_attention_heads,
        ffn_size=options.encoder_ffn_embed_dim,
        activation=activation,
        dropout=options.dropout,
        attention_dropout=options.attention_dropout,
        max_length=max_length or options.max_positions,
        token_types=max(_LEAST_TOKEN_TYPES, options.segments),
        layer_norm_eps=options.layer_norm_eps,
        is_tied=not options.untie_weights_roberta,
        labels=labels,
    )


def _check_sizes(options: Namespace) -> None:
    """Check that a checkpoint's numbers are some.

    Raises:
        UserError: the text names an option.
    """
    for option, least in _SIZES.items():
        size = getattr(options, option)
        if type(size) is not int or size < least:
            name = f"--{option.replace('_', '-')}"
            raise UserError(f"{name} must be a whole number of at least {least}, but is {size!r}")
    size, heads = options.encoder_embed_dim, options.encoder_attention_heads
    if size % heads or size // heads % 2:
        raise UserError(f"--encoder-embed-dim {size} must be an even number for each of {heads} heads")


def _unsupported(option: str, value: Any, reason: str) -> UserError:
    return UserError(f"--{option.replace('_', '-')} {value} cannot be exported to Hugging Face: {reason}")
