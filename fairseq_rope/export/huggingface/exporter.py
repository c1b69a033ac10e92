"""From a checkpoint of an encoder to a folder of Hugging Face."""

import json
import shutil
from argparse import Namespace
from collections.abc import Mapping
from pathlib import Path

from fairseq.models import ARCH_CONFIG_REGISTRY, ARCH_MODEL_REGISTRY
from torch import Tensor

from fairseq_rope.checkpoints.files import arch_of, load_checkpoint, model_options
from fairseq_rope.export.huggingface.config import CONFIG, ModelConfig, config_json, default_labels
from fairseq_rope.export.huggingface.options import model_config
from fairseq_rope.export.huggingface.tensors import SAFETENSORS, require_safetensors, write_tensors
from fairseq_rope.export.huggingface.vocabulary import VOCABULARY, export_vocabulary, read_labels
from fairseq_rope.export.huggingface.weights import to_hugging_face, token_types, weights
from fairseq_rope.models.roformer import RoformerModel
from fairseq_rope_data.errors import UserError
from fairseq_rope_data.files import complete_folder

_EMBEDDINGS = "encoder.sentence_encoder.embed_tokens.weight"
_HEADS = "classification_heads."
_VERSION = "encoder.sentence_encoder.version"  # of fairseq's stack


def export_checkpoint(
    path: Path, data: Path, output: Path, *, max_length: int | None = None, head: str | None = None
) -> ModelConfig:
    """Write the folder `output` for the checkpoint `path`, whose dictionary is in `data`; return what model it is.

    Args:
        path: a checkpoint of fairseq, or an average of some.
        data: the folder of fairseq-preprocess.
        output: complete when this ends well, and not there when it doesn't.
        max_length: of inputs, in tokens; the model's own limit, if not given.
        head: the classifier to export, if there is more than one; a model without one is of masked tokens.

    Raises:
        UserError: a checkpoint of another model, an option or weight that Hugging Face's RoFormer has not, a dictionary
            that does not fit, an output that exists, or a missing package.
    """
    require_safetensors()
    if max_length is not None and max_length < 1:
        raise UserError(f"--max-length must be at least 1, but is {max_length}")
    checkpoint = load_checkpoint(path)
    options, state = _options(path, model_options(checkpoint)), checkpoint["model"]
    for name, tensor in state.items():
        if not isinstance(tensor, Tensor):
            raise UserError(f"--path {path}: {name} must be a tensor, but is a {type(tensor).__name__}")
    if _EMBEDDINGS not in state:
        raise UserError(f"--path {path} must have the weight {_EMBEDDINGS}")
    head = _head(path, state, head)
    labels = None if head is None else _labels(path, state, head, data)
    config = model_config(options, vocab_size=_rows(path, state, _EMBEDDINGS), max_length=max_length, labels=labels)
    vocabulary = export_vocabulary(data, size=config.vocab_size)
    state = token_types(config, state, segments=options.segments)
    _check_names(path, config, state, head=head)
    with complete_folder(output) as folder:
        theirs = to_hugging_face(config, state, vocabulary, head=head or "", layout=options.rope_layout)
        content = config_json(config, pad=vocabulary.number("[PAD]"))
        (folder / CONFIG).write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
        lines = (f"{token}\n" for token in vocabulary.tokens)
        (folder / VOCABULARY).write_text("".join(lines), encoding="utf-8")
        write_tensors(folder / SAFETENSORS, theirs)
        # safetensors keeps its files from all others
        shutil.copymode(folder / CONFIG, folder / SAFETENSORS)
    return config


def _options(path: Path, trained: Namespace) -> Namespace:
    """Return the options of a checkpoint of `roformer`, with the defaults of its arch."""
    arch = arch_of(trained)
    if not issubclass(ARCH_MODEL_REGISTRY.get(arch, object), RoformerModel):
        raise UserError(f"--path {path}: only encoders, roformer..., can be exported, but its arch is {arch}")
    options = Namespace(**vars(trained))
    ARCH_CONFIG_REGISTRY[arch](options)
    if getattr(options, "max_positions", None) is None:
        options.max_positions = getattr(options, "tokens_per_sample", 512)
    return options


def _head(path: Path, state: Mapping[str, Tensor], wanted: str | None) -> str | None:
    """Return the name of the classifier to export, None where there is none."""
    names = sorted({name.split(".")[1] for name in state if name.startswith(_HEADS)})
    if wanted is None and len(names) > 1:
        raise UserError(f"--path {path} has several heads, choose one with --head: {', '.join(names)}")
    if wanted is not None and wanted not in names:
        raise UserError(f"--head must be one of {', '.join(names) or 'none'} that --path {path} has, but is {wanted}")
    return wanted or next(iter(names), None)


def _rows(path: Path, state: Mapping[str, Tensor], name: str) -> int:
    """Return how many rows a weight has, which is looked at before its shape is known."""
    if state[name].dim() != 2:
        raise UserError(f"--path {path}: {name} must be a matrix, but is of the shape {tuple(state[name].shape)}")
    return state[name].size(0)


def _labels(path: Path, state: Mapping[str, Tensor], head: str, data: Path) -> tuple[str, ...]:
    """Return the names of a head's labels, which DATA/label tells; numbers are no names."""
    name = f"{_HEADS}{head}.out_proj.weight"
    if name not in state:  # a head with weights by other names, which the check of names tells
        return ()
    count = _rows(path, state, name)
    labels = read_labels(data, count) if count > 1 else None  # one output is a number, not a label
    is_named = labels is not None and labels != tuple(map(str, range(count)))
    return labels if labels is not None and is_named else default_labels(count)


def _check_names(path: Path, config: ModelConfig, state: Mapping[str, Tensor], *, head: str | None) -> None:
    """Check that the weights are those that Hugging Face's model has, besides heads that are not exported.

    Raises:
        UserError: the text names a weight.
    """
    if config.num_layers > len(state):  # before there is a name for each weight of any number of layers
        count = f"--encoder-layers {config.num_layers:,}"
        raise UserError(f"--path {path} has {len(state)} weights, too few for {count}")
    expected = {weight.ours: weight.shape for weight in weights(config, head=head or "")}
    for name, shape in expected.items():
        found = tuple(state[name].shape) if name in state else None
        if found != shape:
            raise UserError(
                f"--path {path}: {name} must be of the shape {shape}, but is {'missing' if found is None else found}"
            )
        if not state[name].is_floating_point() or state[name].is_sparse:
            kind = f"{state[name].dtype}, {state[name].layout}"
            raise UserError(f"--path {path}: {name} must be of floating-point numbers, each there, but is {kind}")
    left_out = (_HEADS, _VERSION) if head is None else (_HEADS, _VERSION, "encoder.lm_head.")
    extra = sorted(name for name in state if name not in expected and not name.startswith(left_out))
    extra += sorted(name for name in state if name.startswith(f"{_HEADS}{head}.") and name not in expected)
    if extra:
        raise UserError(f"--path {path} cannot be exported to Hugging Face: it has no place for {', '.join(extra[:3])}")
