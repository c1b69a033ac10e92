"""Fixtures that all tests share; the real corpora are found by FAIRSEQ_ROPE_DATA or beside the repository."""

import os
from argparse import Namespace
from pathlib import Path

import pytest
import torch
from fairseq.data import Dictionary
from fairseq.models import ARCH_CONFIG_REGISTRY, ARCH_MODEL_REGISTRY
from fairseq.tasks.translation import TranslationConfig, TranslationTask

import fairseq_rope  # noqa: F401  registers the archs
from fairseq_rope.export.ctranslate2 import export_checkpoint
from tests.trained import Trained, trained_model

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder of real corpora (Multi30k and others), which never enter the repository."""
    folder = Path(os.environ.get("FAIRSEQ_ROPE_DATA", ROOT.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"no real corpora at {folder}; set FAIRSEQ_ROPE_DATA to their folder")
    return folder


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Trained:
    """A small model, trained once in a session through the real command lines."""
    return trained_model(tmp_path_factory.mktemp("trained"))


@pytest.fixture(scope="session")
def exported(trained: Trained, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The small model as a folder for CTranslate2."""
    folder = tmp_path_factory.mktemp("exported") / "model"
    export_checkpoint(trained.checkpoint, trained.data, folder)
    return folder


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
