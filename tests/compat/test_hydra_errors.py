"""What is shown of an error under `fairseq-hydra-train`."""

import pytest
from hydra._internal.utils import run_and_report

import fairseq_rope  # noqa: F401  applies the quirks


def _train() -> None:
    raise ValueError("model.rope_bse is no option")


def test_the_error_itself_is_shown(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    def run_job() -> None:  # the name below which hydra shows frames
        _train()

    monkeypatch.delenv("HYDRA_FULL_ERROR", raising=False)
    with pytest.raises(SystemExit):
        run_and_report(run_job)
    shown = capfd.readouterr().err
    assert "ValueError: model.rope_bse is no option\n\nSet the environment variable" in shown
    assert "etype" not in shown
