"""The fine-tuned models that tests of `classify` share, and the tool itself."""

from typing import Any

import pytest

from fairseq_rope.tools.classify import main
from fairseq_rope_data.errors import run
from tests.support.tuned import Tuned, tuned_models


@pytest.fixture(scope="session")
def tuned(tmp_path_factory: pytest.TempPathFactory) -> Tuned:
    return tuned_models(tmp_path_factory.mktemp("tuned"))


@pytest.fixture
def classify(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    """Run the tool; return what it prints, or its error."""

    def program(*arguments: object) -> str:
        monkeypatch.setattr("sys.argv", ["classify", *map(str, arguments)])
        try:
            run("classify", main)
        except SystemExit:
            return capsys.readouterr().err.strip().splitlines()[-1]
        return capsys.readouterr().out

    return program
