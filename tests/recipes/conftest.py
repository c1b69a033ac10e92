"""Fixtures of the recipes' tests."""

import shutil
from pathlib import Path

import pytest

from tests.support.conversion import make_conversion
from tests.support.shell import Shell
from tests.support.stubs import Stubs

HOSTILE = "w ö'\"*[x](;&|<>`#%{}~!"


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return Shell(tmp_path)


@pytest.fixture(scope="module")
def stubs(tmp_path_factory: pytest.TempPathFactory) -> Stubs:
    """A place in which whole recipes run without torch."""
    return Stubs(tmp_path_factory.mktemp("stubs") / "place")


@pytest.fixture(scope="module")
def finished(stubs: Stubs) -> Path:
    """A work folder with a name that shells hate, in which the whole recipe has run."""
    work = stubs.folder / HOSTILE
    done = stubs.run(work, *stubs.command())
    assert done.returncode == 0, done.stderr
    return work


@pytest.fixture
def work(finished: Path, tmp_path: Path) -> Path:
    """The finished one at another place."""
    shutil.copytree(finished, tmp_path / "moved")
    return tmp_path / "moved"


@pytest.fixture
def place(tmp_path: Path) -> Stubs:
    """A place in which `convert_to_rope.sh` runs without torch."""
    return make_conversion(tmp_path / "a 'place'")
