"""Small encoders, built as fairseq builds them, and a padded batch with some tokens masked."""

import torch
from fairseq.data.data_utils import collate_tokens
from fairseq.tasks.masked_lm import MaskedLMConfig, MaskedLMTask
from torch import Tensor

from tests.support.models import build_model, make_task

BOS, PAD, EOS, WORDS = 0, 1, 2, 90
LENGTHS = (7, 13, 10)
SMALL = dict(encoder_embed_dim=24, encoder_ffn_embed_dim=40, encoder_layers=3, encoder_attention_heads=3)


def make_mlm_task(tokens_per_sample: int = 32) -> MaskedLMTask:
    """A real task of masked language models with a dictionary made here."""
    return MaskedLMTask(MaskedLMConfig(tokens_per_sample=tokens_per_sample), make_task(WORDS - 4).source_dictionary)


def encoder(arch: str = "roformer", *, tokens_per_sample: int = 32, **options: object) -> torch.nn.Module:
    """A small model in evaluation mode, with weights that hide no mistake."""
    task = make_mlm_task(tokens_per_sample)
    own = {"tokens_per_sample": tokens_per_sample, "quant_noise_pq": 0, "encoder_layerdrop": 0.0}
    model = build_model(arch, task, **{**SMALL, **own, **options})
    draw(model)
    return model


@torch.no_grad()
def draw(model: torch.nn.Module) -> None:
    """Draw all weights: biases, which start at 0, around 0, and those of norms around 1, so that tokens stay apart."""
    for name, parameter in model.named_parameters():
        torch.nn.init.normal_(parameter, mean=float("norm" in name.lower() and name.endswith("weight")), std=0.3)


def sentences(*lengths: int) -> list[Tensor]:
    """Sentences of these lengths: `<s>`, words, `</s>` in the middle and at the end."""
    generator = torch.Generator().manual_seed(5)
    found = [torch.randint(4, WORDS, (length,), generator=generator) for length in lengths]
    for tokens in found:
        tokens[0], tokens[-1], tokens[len(tokens) // 2] = BOS, EOS, EOS
    return found


def padded(left: bool = False) -> Tensor:
    """Sentences of `LENGTHS` as a batch, (B, T)."""
    return collate_tokens(sentences(*LENGTHS), PAD, left_pad=left)


def some(tokens: Tensor) -> Tensor:
    """Which tokens of a batch are asked for, (B, T): about a third, no padding."""
    generator = torch.Generator().manual_seed(8)
    return (torch.rand(tokens.shape, generator=generator) < 0.3) & tokens.ne(PAD)
