"""What `config.json` says of a model, and what of it an encoder of ours cannot be: refused by name."""

import json
from pathlib import Path
from typing import Any, NamedTuple

from fairseq_rope.checkpoints.labels import is_class
from fairseq_rope_data.errors import UserError, why_no_file

CONFIG = "config.json"
_MASKED_LM, _CLASSIFICATION = "RoFormerForMaskedLM", "RoFormerForSequenceClassification"
# theirs -> fairseq's of the same formula
_ACTIVATIONS = {
    "gelu": "gelu",
    "gelu_new": "gelu_accurate",
    "gelu_fast": "gelu_accurate",
    "gelu_pytorch_tanh": "gelu_accurate",
    "relu": "relu",
    "tanh": "tanh",
}
# fairseq's -> theirs
ACTIVATIONS = {
    "gelu": "gelu",
    "gelu_accurate": "gelu_new",
    "gelu_fast": "gelu_new",
    "relu": "relu",
    "tanh": "tanh",
}
# field -> key and RoFormerConfig's default, for files leave defaults out
_SIZES: dict[str, tuple[str, Any]] = {
    "vocab_size": ("vocab_size", 50000),
    "hidden_size": ("hidden_size", 768),
    "num_layers": ("num_hidden_layers", 12),
    "num_heads": ("num_attention_heads", 12),
    "ffn_size": ("intermediate_size", 3072),
    "max_length": ("max_position_embeddings", 1536),
    "token_types": ("type_vocab_size", 2),
}
_FRACTIONS: dict[str, tuple[str, Any]] = {
    "dropout": ("hidden_dropout_prob", 0.1),
    "attention_dropout": ("attention_probs_dropout_prob", 0.1),
    "layer_norm_eps": ("layer_norm_eps", 1e-12),
}
FIELDS = _SIZES | _FRACTIONS
# key -> the only value that can be expressed, and why
_REQUIRED = {
    "model_type": ("roformer", "only RoFormer can be imported"),
    "rotary_value": (False, "roformer does not rotate values"),
    "is_decoder": (False, "roformer has no causal attention"),
    "add_cross_attention": (False, "roformer has no cross-attention"),
    "use_bias": (True, "it is RoFormer version 2, whose layers have no biases"),
    "norm_type": ("layer_norm", "it is RoFormer version 2, whose norm is another"),
    "quantization_config": (None, "its weights are quantized"),
}
_MOST_LABELS = 1 << 20  # each has a name before a weight is read


class ModelConfig(NamedTuple):
    """A model that both can express.

    Attributes:
        vocab_size: V.
        hidden_size: E, of the embeddings too.
        num_layers: how many layers.
        num_heads: H.
        ffn_size: of the feed-forward layers.
        activation: of these and the heads, fairseq's name.
        dropout: of embeddings and layers.
        attention_dropout: of attention weights.
        max_length: of an input, in tokens.
        token_types: how many.
        layer_norm_eps: of all layer norms.
        is_tied: the head of masked tokens multiplies by the embeddings.
        labels: of a classifier; None for a model of masked tokens.
    """

    vocab_size: int
    hidden_size: int
    num_layers: int
    num_heads: int
    ffn_size: int
    activation: str
    dropout: float
    attention_dropout: float
    max_length: int
    token_types: int
    layer_norm_eps: float
    is_tied: bool
    labels: tuple[str, ...] | None

    @property
    def head_dim(self) -> int:
        """D."""
        return self.hidden_size // self.num_heads


def read_config(folder: Path) -> tuple[ModelConfig, int]:
    """Read the configuration of a folder; also the number of [PAD].

    Raises:
        UserError: no folder, no configuration, or one of a model that cannot be imported; the text names the key.
    """
    path = folder / CONFIG
    if not path.is_file():
        raise UserError(f"FOLDER must hold a model of Hugging Face, but {path}: {why_no_file(path)}")
    try:
        raw = json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path} is damaged: {error}") from error
    if not isinstance(raw, dict):
        raise UserError(f"{path} is damaged: it must be an object")
    labels = _check_kind(path, raw)
    sizes: dict[str, Any] = {field: _size(path, raw, *key) for field, key in _SIZES.items()}
    fractions: dict[str, Any] = {field: _fraction(path, raw, *key) for field, key in _FRACTIONS.items()}
    _check_sizes(path, raw, sizes)
    if fractions["layer_norm_eps"] == 0:
        raise _unsupported(path, "layer_norm_eps", 0, "--layer-norm-eps must be above 0")
    act = raw.get("hidden_act", "gelu")
    if not isinstance(act, str) or act not in _ACTIVATIONS:
        raise _unsupported(path, "hidden_act", act, f"fairseq has {', '.join(_ACTIVATIONS)}")
    is_tied = raw.get("tie_word_embeddings", True)
    if not isinstance(is_tied, bool):
        raise UserError(f"{path}: tie_word_embeddings must be true or false, but is {is_tied!r}")
    config = ModelConfig(**sizes, **fractions, activation=_ACTIVATIONS[act], is_tied=is_tied, labels=labels)
    return config, _size(path, raw, "pad_token_id", 0, least=0)


def config_json(config: ModelConfig, *, pad: int) -> dict[str, Any]:
    """Return the content of `config.json`; `pad` is the number of [PAD]."""
    values = config._asdict()
    content: dict[str, Any] = {
        "architectures": [_MASKED_LM if config.labels is None else _CLASSIFICATION],
        "model_type": "roformer",
        **{key: values[field] for field, (key, _) in FIELDS.items()},
        "embedding_size": config.hidden_size,
        "hidden_act": ACTIVATIONS[config.activation],
        "rotary_value": False,
        "tie_word_embeddings": config.is_tied,
        "pad_token_id": pad,
        "dtype": "float32",
    }
    if config.labels is not None:
        content["id2label"] = {str(number): label for number, label in enumerate(config.labels)}
        content["label2id"] = {label: number for number, label in enumerate(config.labels)}
    return content


def _check_kind(path: Path, raw: dict[str, Any]) -> tuple[str, ...] | None:
    """Check what kind of model it is; return the labels of a classifier, None for a model of masked tokens."""
    for key, (value, reason) in _REQUIRED.items():
        if raw.get(key, value) != value:
            raise _unsupported(path, key, raw[key], reason)
    if raw.get("pruned_heads"):
        raise _unsupported(path, "pruned_heads", raw["pruned_heads"], "roformer has all heads in all layers")
    kinds = raw.get("architectures") or []
    kind = kinds[0] if isinstance(kinds, list) and kinds else None
    if kind not in (_MASKED_LM, _CLASSIFICATION):
        reason = f"only {_MASKED_LM} and {_CLASSIFICATION} can be imported"
        raise _unsupported(path, "architectures", kinds, reason)
    if kind == _MASKED_LM:
        return None
    labels = _labels(path, raw)
    _check_problem(path, raw, len(labels))
    return labels


def _labels(path: Path, raw: dict[str, Any]) -> tuple[str, ...]:
    names = raw.get("id2label")
    if not names:
        count = _size(path, raw, "num_labels", 2)
        if count > _MOST_LABELS:
            raise UserError(f"{path}: num_labels must be at most {_MOST_LABELS:,}, but is {count}")
        return default_labels(count)
    if not isinstance(names, dict) or {str(number) for number in range(len(names))} != names.keys():
        raise UserError(f"{path}: id2label must name the labels 0, 1, ..., but is {str(names)[:80]}")
    labels = tuple(str(names[str(number)]) for number in range(len(names)))
    words = [label_word(label) for label in labels]
    for label, word in zip(labels, words, strict=True):
        if not is_class(word):
            raise UserError(
                f"{path}: id2label cannot have {label!r}: fairseq's dictionaries of labels have no such word"
            )
    if not all(words) or len({*words}) < len(words):
        raise UserError(f"{path}: id2label must give each label a name of its own, but is {str(names)[:80]}")
    return labels


def _check_problem(path: Path, raw: dict[str, Any], outputs: int) -> None:
    problem = raw.get("problem_type")
    if problem in (None, "single_label_classification") or (problem == "regression" and outputs == 1):
        return
    reason = "it must be regression or single_label_classification"
    if problem == "multi_label_classification":
        reason = "fairseq's sentence_prediction has one label"
    elif problem == "regression":
        reason = "fairseq's sentence_prediction learns one number"
    raise _unsupported(path, "problem_type", problem, reason)


def label_word(label: str) -> str:
    """Return a label as one word, as it stands in a text of labels."""
    return "_".join(label.split())


def default_labels(count: int) -> tuple[str, ...]:
    """Return the names that Hugging Face gives to labels without one."""
    return tuple(f"LABEL_{number}" for number in range(count))


def _check_sizes(path: Path, raw: dict[str, Any], sizes: dict[str, int]) -> None:
    hidden, heads = sizes["hidden_size"], sizes["num_heads"]
    embedding = raw.get("embedding_size")
    if embedding not in (None, hidden):
        raise _unsupported(path, "embedding_size", embedding, f"roformer has that of hidden_size, {hidden}")
    if hidden % heads or hidden // heads % 2:
        reason = f"hidden_size {hidden} must be an even number for each head"
        raise _unsupported(path, "num_attention_heads", heads, reason)


def _size(path: Path, raw: dict[str, Any], key: str, default: int, *, least: int = 1) -> int:
    value = raw.get(key, default)
    # type, not isinstance: true is no number
    if type(value) is not int or not least <= value < 2**31:
        raise UserError(f"{path}: {key} must be a whole number of at least {least}, but is {value!r}")
    return value


def _fraction(path: Path, raw: dict[str, Any], key: str, default: float) -> float:
    value = raw.get(key, default)
    if type(value) not in (int, float) or not 0 <= value < 1:
        raise UserError(f"{path}: {key} must be in [0, 1), but is {value!r}")
    return float(value)


def _unsupported(path: Path, key: str, value: Any, reason: str) -> UserError:
    return UserError(f"{path}: {key} {json.dumps(value)} cannot be imported: {reason}")
