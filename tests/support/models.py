"""Small models, built as fairseq builds them."""

from argparse import Namespace

import torch
from fairseq.data import Dictionary
from fairseq.models import ARCH_CONFIG_REGISTRY, ARCH_MODEL_REGISTRY
from fairseq.tasks.translation import TranslationConfig, TranslationTask

import fairseq_rope  # noqa: F401  registers the archs


def make_task(num_words: int = 90) -> TranslationTask:
    """A real translation task with one joint dictionary of `num_words` words, made here."""
    dictionary = Dictionary()
    for i in range(num_words):
        dictionary.add_symbol(f"w{i}")
    return TranslationTask(TranslationConfig(), dictionary, dictionary)


def build_model(arch: str, task: TranslationTask | None = None, *, seed: int = 1, **options: object) -> torch.nn.Module:
    """Build what `--arch` names with `options` over its defaults, in evaluation mode."""
    torch.manual_seed(seed)
    args = Namespace(arch=arch, **options)
    ARCH_CONFIG_REGISTRY[arch](args)
    return ARCH_MODEL_REGISTRY[arch].build_model(args, task or make_task()).eval()


SMALL = dict(
    encoder_embed_dim=24,
    encoder_ffn_embed_dim=40,
    encoder_layers=2,
    decoder_layers=3,
    encoder_attention_heads=3,
    decoder_attention_heads=3,
    share_all_embeddings=True,
)
