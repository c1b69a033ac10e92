"""The rotary checkpoint that an original becomes, without positions, and the original itself to compare it with."""

import copy
from argparse import Namespace
from pathlib import Path
from typing import Any

from fairseq.models import ARCH_CONFIG_REGISTRY
from omegaconf import OmegaConf

from fairseq_rope.checkpoints.averaging import without_training_state
from fairseq_rope.checkpoints.files import Checkpoint, save_checkpoint
from fairseq_rope.checkpoints.loading import brief
from fairseq_rope.compat.fast_path import drop_copies
from fairseq_rope.conversion.original import Original
from fairseq_rope_data.errors import UserError
from fairseq_rope_data.files import complete_file

ARCH = "transformer_rope"
# their files need not be there any more, and the checkpoint has what was learned of them
_EMBEDDINGS_TO_LOAD = ("encoder_embed_path", "decoder_embed_path")


def rotary_options(original: Namespace) -> Namespace:
    """Return the options of the rotary model that has all sizes of `original`, the options of fairseq's transformer."""
    options = stock_options(original)
    options.arch = options._name = ARCH
    options.encoder_learned_pos = options.decoder_learned_pos = False
    ARCH_CONFIG_REGISTRY[ARCH](options)
    return options


def stock_options(original: Namespace) -> Namespace:
    """Return a copy of the options, without the files of embeddings that the model once began with."""
    return Namespace(**{**vars(original), **dict.fromkeys(_EMBEDDINGS_TO_LOAD)})


def rotary_checkpoint(original: Original) -> Checkpoint:
    """Return an original as a checkpoint of `transformer_rope`, which has learned nothing of rotation yet.

    Raises:
        UserError: an option cannot go with rotation, or the weights do not fit the dictionaries of DATA.
    """
    options = rotary_options(original.model)
    state = _with_options(original, options)
    try:
        model = original.task.build_model(options)
        # takes the positions out of the dictionary
        model.load_state_dict(state["model"], strict=True, model_cfg=options)
    except Exception as error:  # a wrong dictionary, an odd head size: each raises its own
        raise UserError(f"--from {original.path} does not fit DATA {original.data}: {brief(error)}") from error
    return state


def stock_checkpoint(original: Original) -> Checkpoint:
    """Return an original as any fairseq loads it, less its optimizer: 0.12.2 saves weights that no other one takes."""
    state = _with_options(original, stock_options(original.model))
    drop_copies(state["model"], "encoder")
    return state


def _with_options(original: Original, options: Namespace) -> Checkpoint:
    """Return a checkpoint without its training's state, whose dictionary of weights may be changed."""
    state = without_training_state(original.state)
    cfg: Any = OmegaConf.to_container(original.state["cfg"])
    # with --eval-bleu of the training fairseq-validate would build its tokenizer, which may not be here, and translate
    cfg = {**cfg, "model": options, "task": {**original.section("task"), "eval_bleu": False}}
    return {**state, "args": None, "cfg": cfg, "model": copy.copy(state["model"])}


def write_checkpoint(original: Original, state: Checkpoint, output: Path) -> None:
    """Write what an original became to the file `output`, which is complete or not there.

    Raises:
        UserError: `output` is the original, or cannot be written.
    """
    if output.exists() and output.samefile(original.path):
        raise UserError(f"--output must not be --from, but {output} is {original.path}")
    with complete_file(output) as part:
        save_checkpoint(state, part, output=output)
