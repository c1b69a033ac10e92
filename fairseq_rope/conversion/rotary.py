"""The rotary checkpoint that an original becomes: its weights and options, without positions."""

from argparse import Namespace
from pathlib import Path
from typing import Any

import torch
from fairseq.models import ARCH_CONFIG_REGISTRY
from omegaconf import OmegaConf

from fairseq_rope.checkpoints.averaging import without_training_state
from fairseq_rope.checkpoints.files import Checkpoint
from fairseq_rope.checkpoints.loading import brief
from fairseq_rope.conversion.original import Original
from fairseq_rope_data.errors import UserError
from fairseq_rope_data.files import complete_file

ARCH = "transformer_rope"
# their files need not be there any more, and the checkpoint has what was learned of them
_EMBEDDINGS_TO_LOAD = ("encoder_embed_path", "decoder_embed_path")


def rotary_options(original: Namespace) -> Namespace:
    """Return the options of the rotary model that has all sizes of `original`, the options of fairseq's transformer."""
    options = Namespace(**vars(original))
    options.arch = options._name = ARCH
    options.encoder_learned_pos = options.decoder_learned_pos = False
    for name in _EMBEDDINGS_TO_LOAD:
        setattr(options, name, None)
    ARCH_CONFIG_REGISTRY[ARCH](options)
    return options


def rotary_checkpoint(original: Original) -> Checkpoint:
    """Return an original as a checkpoint of `transformer_rope`, which has learned nothing of rotation yet.

    Raises:
        UserError: an option cannot go with rotation, or the weights do not fit the dictionaries of DATA.
    """
    options = rotary_options(original.model)
    state = without_training_state(original.state)
    try:
        model = original.task.build_model(options)
        # takes the positions out of the dictionary
        model.load_state_dict(state["model"], strict=True, model_cfg=options)
    except Exception as error:  # a wrong dictionary, an odd head size: each raises its own
        raise UserError(f"--from {original.path} does not fit DATA {original.data}: {brief(error)}") from error
    cfg: Any = OmegaConf.to_container(original.state["cfg"])
    return {**state, "args": None, "cfg": {**cfg, "model": options}}


def write_rotary(original: Original, output: Path) -> None:
    """Write the rotary checkpoint of `original` to the file `output`, which is complete or not there.

    Raises:
        UserError: see `rotary_checkpoint`; or `output` is the original, or cannot be written.
    """
    if output.exists() and output.samefile(original.path):
        raise UserError(f"--output must not be --from, but {output} is {original.path}")
    state = rotary_checkpoint(original)
    with complete_file(output) as part:
        torch.save(state, part)
