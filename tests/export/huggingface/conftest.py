"""Hugging Face's RoFormer, the oracle, and a folder of it that tests may copy."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.roformers import TOKENS, theirs, write_vocabulary


@pytest.fixture(scope="session")
def transformers() -> Iterator[None]:
    """Let `transformers` be imported, without torchaudio, whose binary does not load beside every torch."""
    pytest.importorskip("safetensors", reason="the extra `export` is not installed")
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "torchaudio", None)
        pytest.importorskip("transformers", reason="the oracle, Hugging Face transformers, is not installed")
        yield


@pytest.fixture(scope="session")
def masked_lm(transformers: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of RoFormerForMaskedLM, which no test may change."""
    folder = tmp_path_factory.mktemp("masked-lm")
    theirs("RoFormerForMaskedLM").save_pretrained(folder)
    write_vocabulary(folder, TOKENS)
    return folder


@pytest.fixture(scope="session")
def classifier(transformers: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of RoFormerForSequenceClassification with three labels, which no test may change."""
    folder = tmp_path_factory.mktemp("classifier")
    theirs("RoFormerForSequenceClassification", num_labels=3).save_pretrained(folder)
    write_vocabulary(folder, TOKENS)
    return folder
