"""The command line that fine-tunes a pre-trained encoder: its own options, once it fits vocabulary and length."""

from argparse import Namespace
from pathlib import Path
from typing import Any

from fairseq.data import Dictionary
from fairseq.models import ARCH_CONFIG_REGISTRY, ARCH_MODEL_REGISTRY
from fairseq.models.roberta import RobertaModel

from fairseq_rope.checkpoints.command_line import arch_defaults, words_of
from fairseq_rope.checkpoints.files import arch_of
from fairseq_rope.checkpoints.loading import brief, load_upgraded
from fairseq_rope_data.errors import UserError


class OtherLengthError(UserError):
    """A model's positions are a table of another length."""


_EMBEDDING = "encoder.sentence_encoder.embed_tokens.weight"


def fine_tuning_words(path: Path, dictionary: Path, *, length: int) -> list[str]:
    """Return the options of fairseq-train that make the model of a checkpoint again.

    Args:
        path: a model of fairseq's masked_lm.
        dictionary: dict.txt of its vocabulary.
        length: tokens of the longest example that it is to read.

    Raises:
        OtherLengthError: its positions are a table of another length.
        UserError: it cannot be loaded, is no encoder that can have a classification head, or is of another vocabulary.
    """
    state = load_upgraded(path)
    options = (state.get("cfg") or {}).get("model")
    arch = arch_of(options)
    model = ARCH_MODEL_REGISTRY.get(arch)
    if model is None or not issubclass(model, RobertaModel) or not isinstance(options, Namespace):
        raise UserError(f"--pretrained {path} must be a model of masked_lm such as roformer, but its arch is {arch}")
    _check_vocabulary(path, state["model"], dictionary)
    args = Namespace(**vars(options))
    ARCH_CONFIG_REGISTRY[arch](args)
    table = getattr(args, "max_positions", None)
    if getattr(args, "position_method", "") == "learned" and table != length:
        raise OtherLengthError(
            f"--length must be {table}, the positions that --pretrained {path} has learned, but is {length}: a table "
            "ends where its training did"
        )
    for name in ("max_positions", "load_checkpoint_heads"):  # the task sets the first one
        setattr(args, name, None)
    return ["--arch", arch, *words_of(model, args, arch_defaults(arch))]


def _check_vocabulary(path: Path, weights: dict[str, Any], dictionary: Path) -> None:
    try:
        words = Dictionary.load(str(dictionary))
    except Exception as error:  # fairseq raises what it likes
        raise UserError(f"cannot load the dictionary {dictionary}: {brief(error)}") from error
    words.add_symbol("<mask>")  # as the tasks do
    if _EMBEDDING not in weights:
        raise UserError(f"--pretrained {path} has no {_EMBEDDING}: it is no encoder of masked_lm")
    rows = len(weights[_EMBEDDING])
    if rows != len(words):
        raise UserError(
            f"--dictionary {dictionary} has {len(words)} words with fairseq's own, but --pretrained {path} has {rows}: "
            "it is of another vocabulary"
        )
