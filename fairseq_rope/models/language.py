"""The model `transformer_lm_rope`, a decoder alone: fairseq's language model with rotary position embedding.

A subclass of fairseq's `TransformerLanguageModel`, which is the same in fairseq 0.12.2 and main; its task, criterions
and `fairseq-eval-lm` serve. `build_model` names the decoder's class there and is no hook.
"""

from argparse import ArgumentParser, Namespace
from typing import Any

from fairseq.dataclass.utils import gen_parser_from_dataclass
from fairseq.models import register_model, register_model_architecture
from fairseq.models.transformer_lm import (
    TransformerLanguageModel,
    TransformerLanguageModelConfig,
    base_lm_architecture,
)
from torch import Tensor

from fairseq_rope.compat.hydra_options import as_namespace
from fairseq_rope.models._scaling import check_one_stack
from fairseq_rope.models._stacks import add_stack_options, build_decoder, check_stack_options, set_stack_defaults
from fairseq_rope.modules.cpu import accelerate

NAME = "transformer_lm_rope"
_REFUSED = ("adaptive_input", "character_embeddings")


@register_model(NAME)
class TransformerRopeLanguageModel(TransformerLanguageModel):
    """fairseq's `transformer_lm` with rotary position embedding, or another method.

    Parameters and state_dict keys are those of `transformer_lm` without positions.
    """

    @classmethod
    def hub_models(cls) -> dict[str, Any]:
        """Offer no archives: fairseq's are of the sinusoidal model."""
        return {}

    @classmethod
    def add_args(cls, parser: ArgumentParser) -> None:
        """Add all options of `transformer_lm` and our own; defaults stand in `transformer_lm_rope`."""
        gen_parser_from_dataclass(parser, TransformerLanguageModelConfig(), delete_default=True)
        add_stack_options(parser)

    @classmethod
    def build_model(cls, args: Namespace, task: Any) -> "TransformerRopeLanguageModel":
        """Build the model.

        Raises:
            ValueError: an option breaks its rule or cannot go with another; the text names it.
        """
        args = as_namespace(args, cls)
        transformer_lm_rope(args)  # a checkpoint of an older version may lack an option
        if args.decoder_layers_to_keep:  # of a checkpoint, which fairseq prunes when it loads it
            args.decoder_layers = len(args.decoder_layers_to_keep.split(","))
        if getattr(args, "max_target_positions", None) is None:
            args.max_target_positions = getattr(args, "tokens_per_sample", None) or task.args.tokens_per_sample
        for option in _REFUSED:
            if getattr(args, option, False):
                raise ValueError(f"--{option.replace('_', '-')} cannot be used with {NAME}: it has plain embeddings")
        check_stack_options(args, model=NAME)
        check_one_stack(args, model=NAME, missing="encoder")
        embed_tokens = cls.build_embedding(args, task.source_dictionary, args.decoder_input_dim)
        model = cls(build_decoder(args, task.target_dictionary, embed_tokens))
        model.decoder.left_pad_target = False  # fairseq's language_modeling pads on the right
        accelerate(model)
        return model

    def forward(self, src_tokens: Tensor, src_positions: Tensor | None = None, **options: Any) -> Any:
        """Return fairseq's output for tokens (B, T), at `src_positions` (B, T) where a batch has them."""
        with self.decoder.at(src_positions):
            return super().forward(src_tokens, **options)


@register_model_architecture(NAME, NAME)
def transformer_lm_rope(args: Namespace) -> None:
    """Set the sizes of fairseq's language model, pre-norm, and the rotation's defaults (RoFormer's)."""
    set_stack_defaults(args)
    base_lm_architecture(args)
    args.no_cross_attention = True
