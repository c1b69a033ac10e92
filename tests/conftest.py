"""The level of every test, and the fixtures that all share."""

import os
from pathlib import Path

import pytest

from fairseq_rope.export.ctranslate2 import export_checkpoint
from tests.support import ROOT
from tests.support.environment import real_corpora
from tests.support.pretrained import Pretrained, pretrained_model
from tests.support.trained import Trained, trained_model

LEVELS = ("unit", "process", "system")  # from the fastest to the slowest
# What puts tests on a level other than `unit`: a path, a fixture, or that their file starts programs.
SYSTEM = (
    *("benchmarks", "integration", "recipes", "test_faults.py"),
    *("models/test_learns.py", "models/test_methods_learn.py", "models/test_same_training.py"),
    "export/huggingface/test_training.py",
)
SYSTEM_FIXTURES = {"trained", "pretrained", "exported", "trained_on_windows", "stubs"}
PROCESS_MODULE = "subprocess"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark every test with its level; files of the slowest go first, so that no core waits for them at the end."""
    slowest: dict[Path, int] = {}
    for item in items:
        level = level_of(item)
        item.add_marker(level)
        slowest[item.path] = max(slowest.get(item.path, 0), LEVELS.index(level))
    items.sort(key=lambda item: slowest[item.path], reverse=True)


def level_of(item: pytest.Item) -> str:
    """The level of a test, one of LEVELS."""
    if any(item.path.is_relative_to(ROOT / "tests" / name) for name in SYSTEM):
        return "system"
    if SYSTEM_FIXTURES & {*item.fixturenames}:
        return "system"
    return "process" if PROCESS_MODULE in vars(item.module) else "unit"


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder of real corpora (Multi30k and others), which never enter the repository.

    What these tests show is shown on small text, too; here again on real text, where it is at hand.
    """
    folder = real_corpora()
    if not folder.is_dir():
        if os.environ.get("FAIRSEQ_ROPE_DATA"):
            pytest.fail(f"FAIRSEQ_ROPE_DATA must be the folder of real corpora, but is {folder}")
        # not every machine may have them: licences forbid to hand some of them on
        pytest.skip(f"no real corpora: FAIRSEQ_ROPE_DATA names no folder of them, and there is no {folder}")
    return folder


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Trained:
    """A small model, trained once in a session through the real command lines."""
    return trained_model(tmp_path_factory.mktemp("trained"))


@pytest.fixture(scope="session")
def pretrained(tmp_path_factory: pytest.TempPathFactory) -> Pretrained:
    """A small encoder, pre-trained once in a session."""
    return pretrained_model(tmp_path_factory.mktemp("pretrained"))


@pytest.fixture(scope="session")
def trained_on_windows(tmp_path_factory: pytest.TempPathFactory) -> Trained:
    """A small model of windows of up to three lines."""
    return trained_model(tmp_path_factory.mktemp("windows"), "--max-update 350 --max-tokens 1000", window=3)


@pytest.fixture(scope="session")
def exported(trained: Trained, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The small model as a folder for CTranslate2."""
    folder = tmp_path_factory.mktemp("exported") / "model"
    export_checkpoint(trained.checkpoint, trained.data, folder)
    return folder
