"""The model `roformer`, an encoder with rotary position embedding, and its named architectures.

A subclass of fairseq's `RobertaModel`, which is the same in fairseq 0.12.2 and main: its tasks, criterions and heads
serve. `build_model` names the encoder's class there and is no hook.
"""

import math
from argparse import ArgumentParser, Namespace
from typing import Any

from fairseq import hub_utils
from fairseq.models import register_model, register_model_architecture
from fairseq.models.roberta import RobertaModel
from fairseq.models.roberta.model import base_architecture
from fairseq.utils import safe_getattr
from torch import Tensor, nn

from fairseq_rope.compat.hydra_options import as_namespace
from fairseq_rope.models._hub import RoformerHubInterface
from fairseq_rope.models._positions import check_encoder_positions
from fairseq_rope.models._roberta_encoder import RoformerEncoder
from fairseq_rope.models._stacks import add_stack_options, check_stack_options, set_stack_defaults
from fairseq_rope.modules.cpu import accelerate


@register_model("roformer")
class RoformerModel(RobertaModel):
    """fairseq's `roberta` with rotary position embedding, or another method, and BERT's segments where asked for.

    Parameters and state_dict keys are those of `roberta` without its table of positions.
    """

    @classmethod
    def hub_models(cls) -> dict[str, Any]:
        """Offer no archives: fairseq's are of RoBERTa."""
        return {}

    @classmethod
    def add_args(cls, parser: ArgumentParser) -> None:
        """Add all options of `roberta` and our own; defaults stand in `roformer`."""
        super().add_args(parser)
        add_stack_options(parser)
        parser.add_argument(
            "--sinusoid-scale",
            type=float,
            metavar="S",
            help="what sinusoids are multiplied by: 0.02 is BERT's deviation",
        )
        parser.add_argument("--segments", type=int, metavar="N", help="embeddings of so many segments; 0: none")
        parser.add_argument("--layer-norm-eps", type=float, metavar="E", help="what layer norms add to the variance")
        parser.add_argument(
            "--checkpoint-activations", action="store_true", help="keep each layer's input only, and compute it again"
        )
        parser.add_argument(
            "--offload-activations", action="store_true", help="as --checkpoint-activations, with the input on the CPU"
        )

    @classmethod
    def build_model(cls, args: Namespace, task: Any) -> "RoformerModel":
        """Build the model.

        Raises:
            ValueError: an option breaks its rule or cannot go with another; the text names it.
        """
        args = as_namespace(args, cls)
        roformer(args)  # a checkpoint of an older version may lack an option
        if getattr(args, "max_positions", None) is None:
            args.max_positions = getattr(args, "tokens_per_sample", None) or task.max_positions()
        check_stack_options(args, model="roformer")
        check_encoder_positions(args, model="roformer")
        _check_own_options(args)
        model = cls(args, RoformerEncoder(args, task.source_dictionary))
        for module in model.modules():
            if isinstance(module, nn.LayerNorm):
                module.eps = args.layer_norm_eps
        accelerate(model)
        return model

    def forward(
        self,
        src_tokens: Tensor,
        features_only: bool = False,
        return_all_hiddens: bool = False,
        classification_head_name: str | None = None,
        **net_input: Any,
    ) -> tuple[Tensor, dict[str, Any]]:
        """Return what `RoformerEncoder.forward` returns, or what a head makes of it.

        Args:
            src_tokens: (B, T).
            features_only: see `RoformerEncoder.forward`.
            return_all_hiddens: see there.
            classification_head_name: a head, which reads the features of each sentence's first token alone.
            net_input: its further arguments.
        """
        # to select tokens a GPU would be waited for
        first_only = classification_head_name is not None and not return_all_hiddens and src_tokens.device.type == "cpu"
        output: tuple[Tensor, dict[str, Any]] = super().forward(
            *(src_tokens, features_only, return_all_hiddens, classification_head_name),
            first_only=first_only,
            **net_input,
        )
        return output

    @classmethod
    def from_pretrained(
        cls,
        model_name_or_path: str,
        checkpoint_file: str = "model.pt",
        data_name_or_path: str = ".",
        bpe: str | None = None,
        **overrides: Any,
    ) -> RoformerHubInterface:
        """Load a checkpoint with its heads.

        Args:
            model_name_or_path: its folder.
            checkpoint_file: its name.
            data_name_or_path: the folder of its dictionary; one that starts with a dot is below the model's.
            bpe: fairseq's segmentation; None: texts are segmented already.
            overrides: further options, such as `bpe_codes`, in the place of those of the training.
        """
        found = hub_utils.from_pretrained(
            *(model_name_or_path, checkpoint_file, data_name_or_path),
            archive_map=cls.hub_models(),
            bpe=bpe,
            load_checkpoint_heads=True,
            **overrides,
        )
        return RoformerHubInterface(found["args"], found["task"], found["models"][0])


def _check_own_options(args: Namespace) -> None:
    if not 0 < args.sinusoid_scale < math.inf:
        raise ValueError(f"--sinusoid-scale must be above 0 and finite, but is {args.sinusoid_scale}")
    if args.sinusoid_scale != 1 and args.position_method != "sinusoidal":
        raise ValueError(f"--sinusoid-scale cannot be used with --position-method {args.position_method}")
    if args.segments < 0:
        raise ValueError(f"--segments must be 0 or more, but is {args.segments}")
    if not 0 < args.layer_norm_eps < math.inf:
        raise ValueError(f"--layer-norm-eps must be above 0 and finite, but is {args.layer_norm_eps}")
    length = getattr(args, "tokens_per_sample", None) or 0
    if args.position_method == "learned" and length > args.max_positions:
        raise ValueError(
            f"--tokens-per-sample must be at most the {args.max_positions} of --max-positions with --position-method "
            f"learned, but is {length}"
        )
    if getattr(args, "mask_whole_words", False):
        raise ValueError(
            "--mask-whole-words does not work: fairseq's masked_lm looks for its options where they no longer are "
            "(facebookresearch/fairseq#3924); let the dictionary's tokens be words instead"
        )


@register_model_architecture("roformer", "roformer")
def roformer(args: Namespace) -> None:
    """Set the sizes of BERT base, which are RoFormer's."""
    set_stack_defaults(args)
    # fairseq's arch would learn positions
    args.encoder_learned_pos = safe_getattr(args, "encoder_learned_pos", False)
    args.sinusoid_scale = safe_getattr(args, "sinusoid_scale", 1.0)
    args.segments = safe_getattr(args, "segments", 0)
    args.layer_norm_eps = safe_getattr(args, "layer_norm_eps", 1e-5)
    args.offload_activations = safe_getattr(args, "offload_activations", False)
    args.checkpoint_activations = safe_getattr(args, "checkpoint_activations", False) or args.offload_activations
    base_architecture(args)


@register_model_architecture("roformer", "roformer_base")
def roformer_base(args: Namespace) -> None:
    """Set the sizes of `roformer`."""
    roformer(args)


@register_model_architecture("roformer", "roformer_small")
def roformer_small(args: Namespace) -> None:
    """Set the sizes of the released small RoFormer (ZhuiyiTechnology/roformer)."""
    args.encoder_layers = safe_getattr(args, "encoder_layers", 6)
    args.encoder_embed_dim = safe_getattr(args, "encoder_embed_dim", 384)
    args.encoder_ffn_embed_dim = safe_getattr(args, "encoder_ffn_embed_dim", 1536)
    args.encoder_attention_heads = safe_getattr(args, "encoder_attention_heads", 6)
    roformer(args)


@register_model_architecture("roformer", "roformer_tiny")
def roformer_tiny(args: Namespace) -> None:
    """Set the sizes of BERT-Mini (Turc et al., arXiv 1908.08962), for two CPU cores."""
    args.encoder_layers = safe_getattr(args, "encoder_layers", 4)
    args.encoder_embed_dim = safe_getattr(args, "encoder_embed_dim", 256)
    args.encoder_ffn_embed_dim = safe_getattr(args, "encoder_ffn_embed_dim", 1024)
    args.encoder_attention_heads = safe_getattr(args, "encoder_attention_heads", 4)
    roformer(args)
