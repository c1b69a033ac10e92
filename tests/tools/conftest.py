"""Fixtures of the tools' tests."""

import pytest

from tests.trained import Trained, trained_model


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Trained:
    """A small real model, trained through fairseq's command lines once in a session."""
    return trained_model(tmp_path_factory)
