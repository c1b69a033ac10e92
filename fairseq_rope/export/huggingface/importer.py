"""From a folder of Hugging Face to a checkpoint that fairseq loads and trains on, with its dictionary."""

import shlex
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from fairseq import options
from fairseq.dataclass.utils import convert_namespace_to_omegaconf
from omegaconf import OmegaConf
from torch import Tensor

from fairseq_rope.checkpoints.files import Checkpoint, save_checkpoint
from fairseq_rope.export.huggingface.config import ModelConfig, default_labels, label_word, read_config
from fairseq_rope.export.huggingface.options import train_options
from fairseq_rope.export.huggingface.tensors import read_tensors
from fairseq_rope.export.huggingface.vocabulary import DICTIONARY, VOCABULARY, Vocabulary, read_vocabulary, write_words
from fairseq_rope.export.huggingface.weights import (
    BIAS,
    DECODER,
    DECODER_BIAS,
    EMBEDDINGS,
    POSITIONS,
    SEGMENTS,
    position_table,
    to_fairseq,
    weights,
)
from fairseq_rope_data.errors import UserError
from fairseq_rope_data.files import complete_folder

MODEL, OPTIONS = "model.pt", "options.txt"
TOKENIZER = "tokenizer_config.json"
# the name that fairseq's sentence_prediction gives
HEAD = "sentence_classification_head"
# of a table of positions, stored in bfloat16
_NEAR = 5e-3


def import_folder(folder: Path, output: Path, *, segments: int | None = None) -> ModelConfig:
    """Write the folder `output` for the model of `folder`; return what model it is.

    It holds `model.pt`, `dict.txt`, `vocab.txt`, and in `options.txt` the options of fairseq-train that make the model;
    `tokenizer_config.json` if there is one; for a classifier also `input0/dict.txt` and `label/dict.txt`, where
    fairseq's sentence_prediction looks for them.

    Args:
        folder: as `save_pretrained` writes it, with `vocab.txt`.
        output: complete when this ends well, and not there when it doesn't.
        segments: how many of its token types the model keeps, the first ones; with 1 it gives that to all tokens.

    Raises:
        UserError: a model that cannot be imported, told before a weight is read; files that are missing, damaged or
            don't fit each other; an output that exists.
    """
    config, pad = read_config(folder)
    if segments is not None and not 1 <= segments <= config.token_types:
        raise UserError(f"--segments must be from 1 to {config.token_types}, those of {folder}, but is {segments}")
    vocabulary = read_vocabulary(folder / VOCABULARY, size=config.vocab_size)
    if vocabulary.number("[PAD]") != pad:
        place = vocabulary.number("[PAD]")
        raise UserError(f"{folder}: pad_token_id of its configuration must be that of [PAD], {place}, but is {pad}")
    with complete_folder(output) as part:
        tensors, is_tied = _resolve_output(config, read_tensors(folder))
        config = config._replace(is_tied=is_tied)
        _check_names(folder, config, tensors)
        state = to_fairseq(config, tensors, vocabulary, head=HEAD)
        if segments is not None:
            state[SEGMENTS] = state[SEGMENTS][:segments].clone()
            config = config._replace(token_types=segments)
        words = train_options(config)
        save_checkpoint(_checkpoint(config, state, words, data=output), part / MODEL, output=output / MODEL)
        shutil.copyfile(folder / VOCABULARY, part / VOCABULARY)
        if (folder / TOKENIZER).is_file():  # recipes read there whether text is to be lower-cased
            shutil.copyfile(folder / TOKENIZER, part / TOKENIZER)
        _write_dictionaries(part, config, vocabulary)
        (part / OPTIONS).write_text(f"{shlex.join(words)}\n", encoding="utf-8")
    return config


def _resolve_output(config: ModelConfig, tensors: dict[str, Tensor]) -> tuple[dict[str, Tensor], bool]:
    """Return the tensors with one output layer and one bias, and whether the layer is the embeddings.

    Pickles have both names of what is tied, and safetensors one. Of two biases it is the layer's that is added.
    """
    if config.labels is not None:
        return tensors, True
    found = dict(tensors)
    if DECODER_BIAS in found:
        found[BIAS] = found.pop(DECODER_BIAS)
    embeddings = found.get(EMBEDDINGS)
    if DECODER not in found and config.is_tied and embeddings is not None:
        found[DECODER] = embeddings
    output = found.get(DECODER)
    return found, output is not None and embeddings is not None and torch.equal(output, embeddings)


def _check_names(folder: Path, config: ModelConfig, tensors: Mapping[str, Tensor]) -> None:
    """Check that the weights are those of the configuration, no more and no fewer, and the table of positions.

    Raises:
        UserError: the text names a weight.
    """
    if config.num_layers > len(tensors):  # before there is a name for each weight of any number of layers
        count = f"num_hidden_layers {config.num_layers:,}"
        raise UserError(f"FOLDER {folder} has {len(tensors)} weights, too few for {count}")
    expected = {weight.theirs: weight.shape for weight in weights(config, head=HEAD)}
    missing = [name for name in expected if name not in tensors]
    if missing:
        raise UserError(f"FOLDER {folder} must have the weight {missing[0]}{_more(missing)}")
    extra = sorted(tensors.keys() - expected.keys() - {POSITIONS})
    if extra:
        raise UserError(f"FOLDER {folder} has a weight that roformer has not: {extra[0]}{_more(extra)}")
    for name, shape in expected.items():
        found = tuple(tensors[name].shape)
        if found != shape:
            raise UserError(f"FOLDER {folder}: {name} must be of the shape {shape}, but is {found}")
        if not tensors[name].is_floating_point():
            raise UserError(f"FOLDER {folder}: {name} must be of floating-point numbers, but is {tensors[name].dtype}")
    if POSITIONS in tensors:
        positions, shape = tensors[POSITIONS].float(), (config.max_length, config.head_dim)
        # its shape first: a configuration may have any length
        if positions.shape != shape or not torch.allclose(positions, position_table(config), rtol=0, atol=_NEAR):
            raise UserError(f"FOLDER {folder}: {POSITIONS} must be RoFormer's table of the base 10000, but is not")


def _more(names: list[str]) -> str:
    return f" and {len(names) - 1} more" if len(names) > 1 else ""


def _checkpoint(config: ModelConfig, state: dict[str, Tensor], words: list[str], *, data: Path) -> Checkpoint:
    """Return what fairseq-train with these options would have saved, without a training's state."""
    task = ["--task", "masked_lm", "--criterion", "masked_lm", "--tokens-per-sample", str(config.max_length)]
    if config.labels is not None:
        task = ["--task", "sentence_prediction", "--criterion", "sentence_prediction", "--init-token", "0"]
        task += ["--num-classes", str(len(config.labels)), "--classification-head-name", HEAD]
        task += ["--regression-target"] if len(config.labels) == 1 else []
    parser = options.get_training_parser()
    args = options.parse_args_and_arch(parser, input_args=[str(data), *task, *words])
    cfg: Any = OmegaConf.to_container(convert_namespace_to_omegaconf(args))
    # what fairseq's loaders look at, of a training that has not begun
    history = {"criterion_name": "", "optimizer_name": "", "lr_scheduler_state": {}, "num_updates": 0}
    extra_state = {"train_iterator": {"epoch": 1, "iterations_in_epoch": 0}}
    return {
        "args": None,
        "cfg": cfg,
        "model": state,
        "optimizer_history": [history],
        "extra_state": extra_state,
        "task_state": {},
    }


def _write_dictionaries(folder: Path, config: ModelConfig, vocabulary: Vocabulary) -> None:
    write_words(folder / DICTIONARY, vocabulary.words())
    if config.labels is None:
        return
    for name in ("input0", "label"):
        (folder / name).mkdir()
    shutil.copyfile(folder / DICTIONARY, folder / "input0" / DICTIONARY)
    is_named = config.labels != default_labels(len(config.labels))
    labels = [label_word(label) if is_named else str(number) for number, label in enumerate(config.labels)]
    write_words(folder / "label" / DICTIONARY, labels)
