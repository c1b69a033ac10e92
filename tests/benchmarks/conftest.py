"""Fixtures of the benchmarks' tests."""

import sys

import pytest

from tests.support.forked import shared_server


@pytest.fixture
def forked_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers of a benchmark that runs in this process are forks, which need not import torch and fairseq."""
    monkeypatch.setattr(sys, "executable", str(shared_server().programs() / "python"))
