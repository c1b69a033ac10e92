"""Fixtures of the recipes' tests."""

from pathlib import Path

import pytest

from tests.support.shell import Shell
from tests.support.stubs import Stubs


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return Shell(tmp_path)


@pytest.fixture(scope="module")
def stubs(tmp_path_factory: pytest.TempPathFactory) -> Stubs:
    """A place in which whole recipes run without torch."""
    return Stubs(tmp_path_factory.mktemp("stubs") / "place")
