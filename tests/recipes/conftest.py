"""Fixtures of the recipes' tests."""

from pathlib import Path

import pytest

from tests.recipes.shell import Shell


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return Shell(tmp_path)
