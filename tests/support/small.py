"""What the tests of the model share: a small model, a padded batch, its logits, a comparison."""

import torch
from fairseq.data.data_utils import collate_tokens
from torch import Tensor

from tests.support.models import SMALL, build_model, make_task

PAD, EOS, WORDS = 1, 2, 90
TASK = make_task(WORDS - 4)
PRE_NORM = dict(encoder_normalize_before=True, decoder_normalize_before=True)
SCALING_OPTIONS = ("rope_scaling", "rope_scaling_factor", "rope_original_length")
ROPE_OPTIONS = (
    *("position_method", "rope_base", "rope_fraction", "rope_layout", "rope_restart_after"),
    *SCALING_OPTIONS,
)


def small(arch: str = "transformer_rope", **options):
    return build_model(arch, TASK, **{**SMALL, **options})


def stock(**options):
    return small("transformer", no_token_positional_embeddings=True, **options)


def stock_keys(model) -> set[str]:
    """The state_dict keys of a stock model, less the copies that fairseq 0.12.2 keeps for its fast path."""
    return {key for key in model.state_dict() if not key.endswith(("_weight", "_bias"))}


def sample(left_pad: bool = True) -> dict:
    generator = torch.Generator().manual_seed(4)
    sources, targets = (
        [torch.cat((torch.randint(4, WORDS, (n,), generator=generator), torch.tensor([EOS]))) for n in lengths]
        for lengths in ((7, 3, 9), (5, 8, 4))
    )
    return dict(
        net_input=dict(
            src_tokens=collate_tokens(sources, PAD, left_pad=left_pad),
            src_lengths=torch.tensor([len(source) for source in sources]),
            prev_output_tokens=collate_tokens([target.roll(1) for target in targets], PAD),
        ),
        target=collate_tokens(targets, PAD),
        ntokens=sum(len(target) for target in targets),
    )


def logits(model, **options) -> Tensor:
    batch = sample()
    return model(**batch["net_input"], **options)[0][batch["target"].ne(PAD)]
