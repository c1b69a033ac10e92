"""Fixtures that all tests share; the real corpora are found by FAIRSEQ_ROPE_DATA or beside the repository."""

import os
from pathlib import Path

import pytest

from fairseq_rope.export.ctranslate2 import export_checkpoint
from tests.support import ROOT
from tests.support.trained import Trained, trained_model


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
